"use strict";
// The live page: asks the broker once per second what is new, and shows it; report.js draws the diagrams.
(() => {
  const $ = (id) => document.getElementById(id);
  const state = $("live-state");
  const pause = $("live-pause");
  const shown = new Map();
  let connection = "";
  let changes = -1;
  let asking = false;
  let again = false;
  let paused = false;
  let timer = 0;
  const show = (told) => {
    for (const [id, html] of Object.entries(told.parts)) {
      if (shown.get(id) === html) continue;
      shown.set(id, html);
      $(id).innerHTML = html; // The server has escaped every text in it.
    }
    state.textContent = told.state;
    const one = told.diagrams.find((each) => each.id === connection);
    if (one && !one.lazy) changes = one.changes;
    document.dispatchEvent(new CustomEvent("diagrams", { detail: told.diagrams }));
  };
  const ask = async () => {
    clearTimeout(timer);
    again = asking;
    if (asking || paused || document.hidden) return;
    asking = true;
    try {
      const answer = await fetch("live?" + new URLSearchParams({ connection, changes }), { signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(answer.statusText);
      const told = await answer.json();
      if (!paused) show(told);
      state.classList.remove("lost");
    } catch {
      state.classList.add("lost");
    }
    asking = false;
    if (again) ask();
    else timer = setTimeout(ask, 1000);
  };
  document.addEventListener("diagram", (event) => {
    if (event.detail === connection) return;
    connection = event.detail;
    changes = -1;
    ask();
  });
  document.addEventListener("visibilitychange", ask);
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "go on" : "pause";
    ask();
  });
  pause.hidden = false;
  timer = setTimeout(ask, 1000);
})();
