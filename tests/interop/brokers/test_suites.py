"""What is read of other clients' suites, and what a report of one has to look like."""

import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.interop.brokers.process import HOST
from tests.interop.brokers.suites import NodeSuite, Outcome, PythonSuite, Report

REPORT = Report(
    "a suite",
    (
        Outcome("good", "passed"),
        Outcome("bad", "failed", "NOT_FOUND - no queue"),
        Outcome("other", "skipped", "wants TLS"),
    ),
)
TESTS = """
import pytest

class TestThese:
    def test_good(self): pass
    @pytest.mark.parametrize("n", [1])
    def test_bad(self, n): assert n == 2
    def test_left_out(self): assert False

@pytest.fixture
def broken(): raise OSError("no broker")

def test_error(broken): pass

@pytest.mark.skip(reason="not today")
def test_skipped(): pass
"""
NODE_TESTS = """
const { describe, it, test } = require('node:test');
const net = require('node:net');
describe('outer', () => {
  describe('inner', () => {
    it('good', (_, done) => net.connect(5672, '127.0.0.1', done).unref());
    it('by options', (_, done) => net.connect({ host: '127.0.0.1', port: '5672' }, done).unref());
    it('bad', () => { throw new Error('no queue'); });
  });
});
test('alone', { skip: 'not today' }, () => {});
"""


def test_a_report_as_expected() -> None:
    REPORT.expect(passed=1, failed={"bad": "NOT_FOUND", "other": "skipped: wants TLS"}, left_out=frozenset({"slow"}))
    assert REPORT.describe() == "a suite: 1 failed, 1 passed, 1 skipped"


@pytest.mark.parametrize(
    ("passed", "failed", "left_out", "told"),
    [
        (2, {"bad": "", "other": ""}, frozenset[str](), "1 tests passed, 2 were expected"),
        (1, {"other": ""}, frozenset[str](), "bad failed: NOT_FOUND - no queue"),
        (1, {"bad": ""}, frozenset[str](), "other skipped: wants TLS"),
        (1, {"bad": "", "other": "", "good": ""}, frozenset[str](), "expected to fail: ['good']"),
        (1, {"bad": "ACCESS_REFUSED", "other": ""}, frozenset[str](), "another reason:\nbad failed: NOT_FOUND"),
        (1, {"bad": "", "other": ""}, frozenset({"good"}), "expected to be left out: ['good']"),
    ],
)
def test_a_report_not_as_expected(passed: int, failed: Mapping[str, str], left_out: frozenset[str], told: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(told)):
        REPORT.expect(passed=passed, failed=failed, left_out=left_out)


class LocalPythonSuite(PythonSuite):
    """Tests that needn't be fetched, in the folder that is the package's name."""

    def install(self) -> tuple[Path, Path]:
        return Path(self.package), Path(sys.executable)


class LocalNodeSuite(NodeSuite):
    """The same for node."""

    def install(self) -> Path:
        return Path(self.package)


def test_outcomes_of_pytest(tmp_path: Path) -> None:
    tests = tmp_path / "t" / "integration"
    tests.mkdir(parents=True)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\n")
    (tests / "test_some.py").write_text(TESTS)
    left_out = frozenset({"test_some.TestThese.test_left_out"})
    for name in ("t/integration", "t/integration/test_some.py"):
        folder = tmp_path / name.replace("/", "-")
        folder.mkdir()
        found = LocalPythonSuite(str(tmp_path), "1", name, (), left_out).run(folder, {}, 60)
        assert [(each.name, each.how) for each in found.outcomes] == [
            ("test_some.TestThese.test_good", "passed"),
            ("test_some.TestThese.test_bad[1]", "failed"),
            ("test_some.test_error", "failed"),
            ("test_some.test_skipped", "skipped"),
        ]
        assert [each.reason.splitlines()[0] for each in found.outcomes[1:]] == [
            "assert 1 == 2",
            'failed on setup with "OSError: no broker"',
            "not today",
        ]


def test_outcomes_of_node(tmp_path: Path) -> None:
    source, folder = tmp_path / "package", tmp_path / "run"
    (source / "test").mkdir(parents=True)
    folder.mkdir()
    (source / "test" / "some.test.js").write_text(NODE_TESTS)
    with socket.create_server((HOST, 0)) as server:
        found = LocalNodeSuite(str(source), "1").run(folder, server.getsockname()[1], 60)
    assert found.outcomes == (
        Outcome("outer > inner > good", "passed"),
        Outcome("outer > inner > by options", "passed"),
        Outcome("outer > inner > bad", "failed", "no queue"),
        Outcome("alone", "skipped", "not today"),
    )
