"""TopicTrie: the patterns of a topic exchange, as a tree of their words (0-9-1 section 3.1.3.3).

A lookup makes one pass over the words of the routing key, with all the nodes that the words so far reach: nothing is
tried twice, however many `#` a pattern has. The cost is that of the nodes reached, so patterns that differ from the key
at some word cost nothing from there on. What may follow a `#` that was reached is found by the word that comes, without
a look at the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Generic, TypeVar

_D = TypeVar("_D")


class TopicTrie(Generic[_D]):
    """Destinations by pattern. Words are separated by dots; in patterns `*` is one word, `#` zero or more.

    The empty key has no word. Words may be empty: "a..b" has three. A destination may be added several times under one
    pattern; it must be removed as often.

    >>> trie = TopicTrie[str]()
    >>> trie.add("*.stock.#", "queue")
    >>> list(trie.match("eur.stock.db")), list(trie.match("stock.nasdaq"))
    (['queue'], [])
    """

    __slots__ = ("_root", "nodes", "tried")

    def __init__(self) -> None:
        self.nodes = 0
        """Number of nodes below the root."""
        self._root: _Node[_D] = _Node()
        """What an empty key reaches."""
        self.tried = 0
        """Nodes that the last `match` looked at."""

    def add(self, pattern: str, destination: _D) -> None:
        """Add a destination."""
        destinations = self._node(pattern).destinations
        destinations[destination] = destinations.get(destination, 0) + 1

    def remove(self, pattern: str, destination: _D) -> None:
        """Remove a destination once, with all nodes that become useless. Raises KeyError if it doesn't exist."""
        path: list[tuple[_Node[_D], str]] = []
        node = self._root
        for word in _normal(pattern):
            child = node.child(word)
            if child is None:
                raise KeyError(pattern)
            path.append((node, word))
            node = child
        count = node.destinations[destination]
        if count > 1:
            node.destinations[destination] = count - 1
            return
        del node.destinations[destination]
        for parent, word in reversed(path):
            if not node.is_empty:
                break
            parent.cut(word)
            self.nodes -= 1
            node = parent

    def match(self, key: str) -> Collection[_D]:
        """Return the destinations of all patterns that match a routing key, each once; don't change the result."""
        hits: list[dict[_D, int]] = []
        # A `#` stays reached until the end of the key; its own destinations are hit at once, whatever follows.
        staying: dict[_Node[_D], None] = {}
        # What may follow those that have few words, by word; `many` has the others.
        by_word: dict[str, list[_Node[_D]]] = {}
        many: list[_Node[_D]] = []
        reached = [self._root]
        tried = 1
        _follow_hashes(reached, hits, staying)
        if key:
            words = key.split(".")
            left = len(words)
            known = 0
            for word in words:
                following: list[_Node[_D]] = []
                # No node comes twice: each has one parent.
                for node in reached:
                    if node.words is not None:
                        child = node.words.get(word)
                        if child is not None:
                            following.append(child)
                    if node.star is not None:
                        following.append(node.star)
                if staying:
                    if len(staying) > known:
                        for node in islice(staying, known, None):
                            if node.words is None:
                                continue
                            if len(node.words) > left:
                                many.append(node)
                                continue
                            tried += len(node.words)
                            for each, follower in node.words.items():
                                by_word.setdefault(each, []).append(follower)
                        known = len(staying)
                    tried += len(many)
                    for node in many:
                        if node.words is not None:
                            child = node.words.get(word)
                            if child is not None:
                                following.append(child)
                    following += by_word.get(word, ())
                tried += len(following)
                if following:
                    _follow_hashes(following, hits, staying)
                elif not staying:
                    reached = following
                    break
                reached = following
        for node in reached:
            if node.destinations:
                hits.append(node.destinations)
        self.tried = tried
        if not hits:
            return ()
        if len(hits) == 1:
            return hits[0]
        found: dict[_D, int] = {}
        for hit in hits:
            found.update(hit)
        return found

    def count_nodes(self) -> int:
        """Return the number of nodes; 1 for an empty trie."""
        return sum([1 for _ in self._walk()])

    def __getstate__(self) -> tuple[list[tuple[str, dict[_D, int]]]]:
        # Flat: one pickled node per word would nest as deep as the longest pattern, more than pickle can handle.
        return ([(pattern, node.destinations) for pattern, node in self._walk() if node.destinations],)

    def __setstate__(self, state: tuple[list[tuple[str, dict[_D, int]]]]) -> None:
        self._root = _Node()
        self.nodes = 0
        self.tried = 0
        for pattern, destinations in state[0]:
            self._node(pattern).destinations = destinations

    def _node(self, pattern: str) -> _Node[_D]:
        """Return the node of a pattern, creating it if necessary."""
        node = self._root
        for word in _normal(pattern):
            child = node.child(word)
            if child is None:
                child = node.grow(word)
                self.nodes += 1
            node = child
        return node

    def _walk(self) -> Iterator[tuple[str, _Node[_D]]]:
        pending: list[tuple[tuple[str, ...], _Node[_D]]] = [((), self._root)]
        while pending:
            words, node = pending.pop()
            yield ".".join(words), node
            children = list((node.words or {}).items())
            if node.star is not None:
                children.append(("*", node.star))
            if node.hash is not None:
                children.append(("#", node.hash))
            pending += [((*words, word), child) for word, child in children]


class _Node(Generic[_D]):
    """The state reached by the words of a pattern so far."""

    __slots__ = ("destinations", "hash", "star", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Node[_D]] | None = None
        """What each word leads to; None: there is none."""
        self.star: _Node[_D] | None = None
        """What any one word leads to."""
        self.hash: _Node[_D] | None = None
        """What any words lead to, also none."""
        self.destinations: dict[_D, int] = {}
        """Destinations of the pattern that ends here, with the number of times each was added."""

    def child(self, word: str) -> _Node[_D] | None:
        if word == "*":
            return self.star
        if word == "#":
            return self.hash
        return None if self.words is None else self.words.get(word)

    def grow(self, word: str) -> _Node[_D]:
        child: _Node[_D] = _Node()
        if word == "*":
            self.star = child
        elif word == "#":
            self.hash = child
        elif self.words is None:
            self.words = {word: child}
        else:
            self.words[word] = child
        return child

    def cut(self, word: str) -> None:
        if word == "*":
            self.star = None
        elif word == "#":
            self.hash = None
        elif self.words is not None:
            del self.words[word]
            if not self.words:
                self.words = None

    @property
    def is_empty(self) -> bool:
        return not self.destinations and self.words is None and self.star is None and self.hash is None


def _normal(pattern: str) -> list[str]:
    """Return the words of a pattern in normal form. Neighbouring wildcards may be in any order, and several `#` equal
    one: the stars come first and one `#` after them, so that a `#` is always followed by a word or by nothing."""
    words: list[str] = pattern.split(".") if pattern else []
    if words.count("#") == 0:
        return words
    normal: list[str] = []
    pending = False
    for word in words:
        if word == "#":
            pending = True
            continue
        if pending and word != "*":
            normal.append("#")
            pending = False
        normal.append(word)
    if pending:
        normal.append("#")
    return normal


def _follow_hashes(reached: list[_Node[_D]], hits: list[dict[_D, int]], staying: dict[_Node[_D], None]) -> None:
    """Reach each `#` together with the node before it, since it may stand for no word."""
    for node in reached:
        following = node.hash
        if following is not None and following not in staying:
            # At the end of a pattern it may be reached again; then the same destinations are hit twice, and count once.
            if following.destinations:
                hits.append(following.destinations)
            if following.words is not None:
                staying[following] = None
