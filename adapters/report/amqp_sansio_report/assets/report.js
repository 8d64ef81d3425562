"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const trim = (value) => String(Number(value.toPrecision(3)));
  const duration = (ns) => {
    if (!ns) return "0 s";
    const size = Math.abs(ns);
    if (size >= 7.2e12) return trim(ns / 3.6e12) + " h";
    if (size >= 1.2e11) return trim(ns / 6e10) + " min";
    for (const [unit, one] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (size >= one) return trim(ns / one) + " " + unit;
    return trim(ns) + " ns";
  };
  const octets = (value) => {
    for (const [unit, one] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (value >= one) return trim(value / one) + " " + unit;
    return value + " B";
  };
  const show = { count: (value) => value.toLocaleString("en"), octets, duration };
  // Times are seconds and nanoseconds apart: together they don't fit a number.
  const clock = (t0, ns, digits) => {
    const whole = t0[1] + ns;
    const seconds = t0[0] + Math.floor(whole / 1e9);
    const rest = ((Math.round(whole) % 1e9) + 1e9) % 1e9;
    const time = new Date(seconds * 1000).toISOString();
    return time.slice(11, 19) + "." + String(rest).padStart(9, "0").slice(0, digits);
  };
  // Where a bucket begins: there are four for each power of two.
  const quarter = (index) => Math.floor(((4 + (index % 4)) * 2 ** Math.floor(index / 4)) / 4);
  const digits = (span) => (span > 6e11 ? 0 : span > 1e9 ? 3 : 6);
  const clean = (text) => text.replace(/\.$/, "");

  // Tips: what a mark, or the place in a chart, stands for.
  const tip = $("tip");
  const hide = () => {
    tip.hidden = true;
    for (const line of document.querySelectorAll(".cross")) line.remove();
  };
  const say = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), window.innerWidth - box.width - 8);
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (y + 18 + box.height > window.innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
  };
  const read = (figure, name) => {
    if (!figure[name]) figure[name] = JSON.parse(figure.dataset[name]);
    return figure[name];
  };
  const along = (figure, plot, x) => {
    const chart = read(figure, "lines");
    const box = plot.getBoundingClientRect();
    const share = Math.min(Math.max((x - box.left) / box.width, 0), 1);
    const lines = [clean(clock(chart.t0, share * chart.span, digits(chart.span))) + " UTC"];
    for (const [name, , points] of chart.lines) {
      let low = 0;
      let high = points.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (points[middle][0] <= share * 1000) low = middle + 1;
        else high = middle;
      }
      lines.push(name + ": " + show[chart.unit](low ? points[low - 1][1] : 0));
    }
    for (const line of document.querySelectorAll(".cross")) line.remove();
    const cross = make("div", "cross");
    cross.style.left = share * 100 + "%";
    plot.append(cross);
    return lines.join("\n");
  };
  const point = (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    const marked = target.closest("[data-tip]");
    if (marked) return say(marked.dataset.tip, event.clientX, event.clientY);
    if (target.matches(".cell")) {
      const figure = target.closest("figure");
      const chart = read(figure, "cloud");
      const at = clean(clock(chart.t0, (target.x.baseVal.value / 1000) * chart.span, digits(chart.span)));
      const values = duration(quarter(target.dataset.q)) + " – " + duration(quarter(target.dataset.q - -1));
      return say(at + " UTC\n" + values + "\n" + target.dataset.n + " times", event.clientX, event.clientY);
    }
    const plot = target.closest("figure[data-lines] .plot");
    if (plot) return say(along(plot.closest("figure"), plot, event.clientX), event.clientX, event.clientY);
    hide();
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("pointerleave", hide);
  document.addEventListener("scroll", hide, { passive: true });

  // In a notebook's frame a link to a place of the page would load the notebook there.
  const framed = location.protocol === "about:";
  let show_unit = () => false;
  const go = (hash) => {
    if (!framed) location.hash = hash;
    else if (!show_unit(hash)) {
      const place = document.getElementById(decodeURIComponent(hash.slice(1)));
      if (place) place.scrollIntoView();
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (!link || !framed) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });

  // Sequence diagrams.
  const store = $("seq-data");
  if (!store) return;
  const NONE = { id: "", client: "", server: "", protocol: "", name: "", units: [], total: 0, spans: [], tcp: [], t0: [0, 0] };
  const parse = (one) => ({
    ...NONE,
    ...one,
    units: (one.units || []).map(([seq, t, server, channel, event, size, kind, summary, answers, lines, broken, frames, hidden]) => ({
      seq, t, server, channel, event, size, kind, summary, answers, lines, broken, frames, hidden,
      text: [event, summary, ...lines.map((line) => line[1] + "=" + line[2]), ...broken.map((rule) => rule[0] + " " + rule[2])].join(" ").toLowerCase(),
    })),
  });
  let diagrams = JSON.parse(store.textContent).map(parse);
  const form = $("seq-form");
  const list = $("seq-units");
  const detail = $("seq-detail");
  const split = detail.parentElement;
  const choices = { connection: $("seq-connection"), channel: $("seq-channel"), event: $("seq-event"), sender: $("seq-sender") };
  const search = $("seq-text");
  let current = NONE;
  let items = new Map();
  let chosen = null;
  form.addEventListener("submit", (event) => event.preventDefault());
  // Choices that stay the same aren't touched: somebody may be choosing.
  const fill = (select, pairs) => {
    const old = [...select.options];
    if (old.length === pairs.length && pairs.every(([value, text], at) => old[at].value === String(value) && old[at].textContent === text)) return;
    const before = select.value;
    select.replaceChildren();
    for (const [value, text] of pairs) {
      const node = make("option", "", text);
      node.value = value;
      select.append(node);
    }
    select.value = before;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  };
  const title = (one) => {
    const shown = one.units.length < one.total ? one.units.length + " of " + one.total : one.total;
    return (one.name ? one.name + " · " : "") + one.client + " → " + one.server + " · " + (one.protocol || "?") + " · " + shown + " units · " + one.id.slice(0, 8);
  };
  const filters = (select, name, values) => fill(select, [["", "all"], ...values.map((value) => [value, name(value)])]);
  const close = () => {
    detail.hidden = true;
    split.classList.remove("open");
    split.append(detail);
    for (const old of list.querySelectorAll("li.detail")) old.remove();
    for (const old of list.querySelectorAll(".chosen")) {
      old.classList.remove("chosen");
      old.firstChild.setAttribute("aria-expanded", "false");
    }
    chosen = null;
  };
  const display = (index) => {
    current = diagrams[index] || NONE;
    fill(choices.connection, diagrams.map((one, at) => [at, one.label === undefined ? title(one) : one.label]));
    choices.connection.value = index;
    $("seq-app").hidden = !diagrams.length;
    $("seq-client").textContent = "client " + (current.name ? current.name + " · " : "") + current.client;
    $("seq-server").textContent = "server " + current.server;
    const each = (key) => [...new Set(current.units.map(key))];
    filters(choices.channel, String, each((unit) => unit.channel).sort((a, b) => a - b));
    filters(choices.event, String, each((unit) => unit.event).sort());
    filters(choices.sender, (value) => (value === 1 ? "server" : "client"), each((unit) => unit.server).sort());
    draw();
    instant();
    document.dispatchEvent(new CustomEvent("diagram", { detail: current.id }));
  };
  const open = (index) => {
    for (const select of [choices.channel, choices.event, choices.sender]) select.value = "";
    display(index);
    // A live page shows the latest.
    if (current.label !== undefined) list.parentElement.scrollTop = list.parentElement.scrollHeight;
  };
  const wanted = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { channel, event, sender } = choices;
    return (unit) =>
      (!channel.value || unit.channel === Number(channel.value)) &&
      (!event.value || unit.event === event.value) &&
      (!sender.value || unit.server === Number(sender.value)) &&
      words.every((word) => unit.text.includes(word));
  };
  // The offset from the connection's begin, and the time of day.
  const when = (t) => {
    const node = make("span", "t", "+" + (t / 1e9).toFixed(t < 1e11 ? 6 : 3));
    node.append(make("span", "clock", clock(current.t0, t, 3)));
    return node;
  };
  const draw = () => {
    close();
    items = new Map();
    const rows = [];
    const fits = wanted();
    const units = current.units;
    let before = null;
    let last = -1;
    let count = 0;
    const span = units.length ? units[units.length - 1].t - units[0].t : 0;
    const pause = Math.max(5e8, span / 20);
    const signals = choices.channel.value || choices.event.value || search.value ? [] : current.tcp.filter((one) => !choices.sender.value || one[1] === Number(choices.sender.value));
    let drawn = 0;
    const signal = (until) => {
      for (; drawn < signals.length && signals[drawn][0] < until; drawn += 1) {
        const [t, server, text] = signals[drawn];
        const item = make("li", "unit tcp" + (server ? " from-server" : ""));
        const line = make("div", "line");
        const lane = make("span", "lane");
        lane.append(make("b", "", "TCP"), make("span", "sum", " " + text));
        line.append(when(t), lane);
        item.append(line);
        rows.push(item);
      }
    };
    for (const unit of units) {
      signal(unit.t);
      if (unit.seq > last + 1) rows.push(make("li", "pause", (unit.seq - last - 1).toLocaleString("en") + " units left out"));
      last = unit.seq;
      if (!fits(unit)) continue;
      if (before !== null && unit.t - before >= pause) rows.push(make("li", "pause", duration(unit.t - before) + " later, " + clock(current.t0, unit.t, 3)));
      before = unit.t;
      count += 1;
      const item = make("li", "unit k-" + unit.kind + (unit.server ? " from-server" : ""));
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.append(when(unit.t));
      const lane = make("span", "lane");
      lane.append(make("b", "", unit.event), make("span", "ch", "ch " + unit.channel), make("span", "sum", unit.summary));
      if (unit.broken.length) lane.append(make("span", "flag", "⚠ " + unit.broken[0][0]));
      button.append(lane);
      button.addEventListener("click", () => (chosen === unit ? close() : choose(unit)));
      item.append(button);
      rows.push(item);
      items.set(unit.seq, [unit, item]);
    }
    signal(Infinity);
    if (units.length < current.total && last + 1 < current.total) rows.push(make("li", "pause", (current.total - last - 1).toLocaleString("en") + " units left out"));
    list.replaceChildren(...rows);
    $("seq-count").textContent = count.toLocaleString("en") + " of " + current.total.toLocaleString("en") + " units";
  };
  // What was open on the connection at a time of day: messages, and requests without their answer.
  const at = $("seq-at");
  const instant = () => {
    const list = $("seq-state");
    list.replaceChildren();
    const parts = at.value.trim().match(/^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/);
    list.hidden = !parts;
    if (!parts) return;
    const of_day = Number(parts[1]) * 3600 + Number(parts[2]) * 60 + Number(parts[3] || 0);
    const begin = (current.t0[0] % 86400) + current.t0[1] / 1e9;
    // A time before the connection's begin is one of the next day.
    const t = Math.round((of_day < Math.floor(begin) ? of_day + 86400 - begin : of_day - begin) * 1e9);
    const line = (seq, text) => {
      const item = make("li");
      item.append(jump(seq, text));
      list.append(item);
    };
    const place = make("li");
    const link = make("a", "", "at " + clean(clock(current.t0, t, 3)) + " UTC, " + duration(t) + " after the connection's begin:");
    link.href = "#seq-" + current.id + "/at/" + t;
    place.append(link);
    list.append(place);
    const answered = new Map(current.units.filter((unit) => unit.answers !== null).map((unit) => [unit.answers, unit.t]));
    for (const unit of current.units) {
      if (answered.has(unit.seq) && unit.t <= t && t < answered.get(unit.seq)) line(unit.seq, unit.event + " of the " + (unit.server ? "server" : "client") + " waits for " + duration(t - unit.t));
    }
    const open_ = current.spans.filter(([from, until]) => from <= t && (until === null || until > t));
    for (const [from, , seq, channel, text] of open_) line(seq, "channel " + channel + ": " + text + " for " + duration(t - from));
    if (list.children.length === 1) list.append(make("li", "", "no message and no request was open"));
  };
  const dump = (frame) => {
    const [name, offset, size, base64] = frame;
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const wide = window.innerWidth < 560 ? 8 : 16;
    const box = make("div");
    box.append(make("h5", "", name + " · " + size.toLocaleString("en") + " octets at " + offset.toLocaleString("en")));
    const pre = make("pre");
    for (let at = 0; at < bytes.length; at += wide) {
      const some = [...bytes.slice(at, at + wide)];
      const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(wide * 3 - 1);
      const text = some.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
      pre.append(make("span", "a", at.toString(16).padStart(4, "0") + "  "), hex + "  ", make("span", "x", text), "\n");
    }
    if (bytes.length < size) pre.append(make("span", "a", (size - bytes.length).toLocaleString("en") + " more octets"));
    box.append(pre);
    return box;
  };
  const jump = (seq, text) => {
    const known = items.get(seq);
    if (!known) return make("span", "", text);
    const link = make("a", "", text);
    link.href = "#seq-" + current.id + "/" + seq;
    return link;
  };
  const choose = (unit) => {
    close();
    chosen = unit;
    const item = items.get(unit.seq)[1];
    item.classList.add("chosen");
    item.firstChild.setAttribute("aria-expanded", "true");
    const shut = make("button", "close", "close ✕");
    shut.type = "button";
    shut.addEventListener("click", close);
    const parts = [shut, make("h4", "", "#" + unit.seq + " " + unit.event)];
    const who = unit.server ? "server → client" : "client → server";
    parts.push(make("div", "meta", who + " · channel " + unit.channel + " · " + unit.size.toLocaleString("en") + " octets"));
    parts.push(make("div", "meta", clock(current.t0, unit.t, 9) + " UTC"));
    const before = current.units.find((one) => one.seq === unit.answers);
    if (unit.answers !== null) {
      const line = make("div", "meta", "answers ");
      line.append(jump(unit.answers, "#" + unit.answers + (before ? " " + before.event : "")), before ? " after " + duration(unit.t - before.t) : "");
      parts.push(line);
    }
    const after = current.units.find((one) => one.answers === unit.seq);
    if (after) {
      const line = make("div", "meta", "answered by ");
      line.append(jump(after.seq, "#" + after.seq + " " + after.event), " after " + duration(after.t - unit.t));
      parts.push(line);
    }
    for (const [rule, severity, text] of unit.broken) {
      const box = make("div", "broken " + severity);
      const link = make("a", "rule", rule);
      link.href = "#rule-" + rule;
      box.append(link, make("div", "", text));
      parts.push(box);
    }
    if (unit.lines.length) {
      const fields = make("dl", "fields");
      for (const [depth, name, value] of unit.lines) {
        const title = make("dt", "", name);
        title.style.paddingLeft = depth + "em";
        fields.append(title, make("dd", "", value));
      }
      parts.push(make("h5", "", "Fields"), fields);
    }
    if (unit.hidden) parts.push(make("p", "note", "Its octets aren't shown: " + unit.hidden + "."));
    for (const frame of unit.frames) parts.push(dump(frame));
    const rest = unit.size - unit.frames.reduce((sum, frame) => sum + frame[2], 0);
    if (unit.frames.length && rest > 0) parts.push(make("p", "note", "More frames with " + rest.toLocaleString("en") + " octets follow."));
    detail.replaceChildren(...parts);
    detail.hidden = false;
    if (window.matchMedia("(min-width: 1180px)").matches) split.classList.add("open");
    else {
      const holder = make("li", "detail");
      holder.append(detail);
      item.after(holder);
    }
  };
  // Places in a diagram: #seq-ID, #seq-ID/UNIT, and #seq-ID/at/NANOSECONDS after the connection's begin.
  show_unit = (hash) => {
    const [id, part, at] = decodeURIComponent(hash).replace(/^#seq-/, "").split("/");
    const index = diagrams.findIndex((one) => one.id === id);
    if (!hash.startsWith("#seq-") || index < 0) return false;
    const before = at === undefined ? [] : diagrams[index].units.filter((unit) => unit.t <= Number(at));
    const seq = at === undefined ? part : before.length ? String(before[before.length - 1].seq) : undefined;
    if (diagrams[index] !== current || (seq && !items.has(Number(seq)))) {
      search.value = "";
      open(index);
    }
    const known = items.get(Number(seq));
    if (seq && known) {
      choose(known[0]);
      known[1].scrollIntoView({ block: "center" });
    } else $("sequence").scrollIntoView();
    return true;
  };
  choices.connection.addEventListener("change", () => open(Number(choices.connection.value)));
  for (const select of [choices.channel, choices.event, choices.sender]) select.addEventListener("change", draw);
  search.addEventListener("input", draw);
  at.addEventListener("input", instant);
  window.addEventListener("hashchange", () => show_unit(location.hash));
  for (const row of document.querySelectorAll(".gantt .row")) {
    if (!diagrams.some((one) => one.id === row.dataset.connection)) continue;
    row.classList.add("link");
    row.addEventListener("click", () => go("#seq-" + row.dataset.connection));
  }
  // A live page tells what is new: of connections that it leaves out, what was known stays.
  const first = () => Math.max(diagrams.findIndex((one) => !one.lazy), 0);
  document.addEventListener("diagrams", (event) => {
    const known = new Map(diagrams.map((one) => [one.id, one]));
    diagrams = event.detail.map((one) => (one.lazy && known.has(one.id) ? { ...known.get(one.id), label: one.label } : parse(one)));
    const index = diagrams.findIndex((one) => one.id === current.id);
    const box = list.parentElement;
    const [top, inner] = [box.scrollTop, detail.scrollTop];
    const follows = box.scrollHeight - box.clientHeight - top < 40;
    const focused = list.contains(document.activeElement);
    const seq = chosen && chosen.seq;
    display(index < 0 ? first() : index);
    const known_unit = index < 0 ? undefined : items.get(seq);
    if (known_unit) {
      choose(known_unit[0]);
      if (focused) known_unit[1].firstChild.focus({ preventScroll: true });
    }
    box.scrollTop = follows && !known_unit ? box.scrollHeight : top;
    detail.scrollTop = inner;
  });
  open(first());
  show_unit(location.hash);
})();
