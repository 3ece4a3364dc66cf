"""Random operations against a sorted dict, by Hypothesis."""

from __future__ import annotations

import tempfile
from collections.abc import MutableMapping

import pytest
import skeindb
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

# Few keys, so that operations meet; a prefix of another and one that is last in any order.
KEYS = st.sampled_from([b"", b"a", b"a\0", b"ab", b"b", b"\xff", b"\xff\xff", b"k" * 300])
VALUES = st.binary(max_size=8) | st.sampled_from([b"v" * 5000])
ENDS = st.none() | KEYS


def selected(model: dict[bytes, bytes], prefix: bytes | None, start: bytes | None, stop: bytes | None) -> list[bytes]:
    return [
        key
        for key in sorted(model)
        if key.startswith(prefix or b"") and (start is None or start <= key) and (stop is None or key < stop)
    ]


class Machine(RuleBasedStateMachine):
    """A keyspace, or a transaction's view of it, beside a dict."""

    engine = "memory"
    snapshots: Bundle[tuple[skeindb.Snapshot, dict[bytes, bytes]]] = Bundle("snapshots")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.db = skeindb.open(self.folder.name + "/db", engine=self.engine)  # type: ignore[arg-type]
        self.keyspace = self.db.keyspace("k")
        self.view: MutableMapping[bytes, bytes] | skeindb.View = self.keyspace
        self.tx: skeindb.Transaction | None = None
        self.model: dict[bytes, bytes] = {}
        self.committed: dict[bytes, bytes] = {}

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            self.folder.cleanup()

    @rule(key=KEYS, value=VALUES)
    def insert(self, key: bytes, value: bytes) -> None:
        self.view[key] = value
        self.model[key] = value

    @rule(key=KEYS)
    def remove(self, key: bytes) -> None:
        assert self.view.pop(key, None) == self.model.pop(key, None)

    @rule(key=KEYS, value=VALUES)
    def setdefault(self, key: bytes, value: bytes) -> None:
        assert self.view.setdefault(key, value) == self.model.setdefault(key, value)

    @rule(rows=st.dictionaries(KEYS, VALUES, max_size=4))
    def update(self, rows: dict[bytes, bytes]) -> None:
        self.view.update(rows)
        self.model.update(rows)

    @rule(last=st.booleans())
    def popitem(self, last: bool) -> None:
        if self.model:
            key = sorted(self.model)[-1 if last else 0]
            assert self.view.popitem(last) == (key, self.model.pop(key))  # type: ignore[call-arg]
        else:
            with pytest.raises(KeyError):
                self.view.popitem()

    @rule(key=KEYS, expected=st.none() | VALUES, new=st.none() | VALUES)
    def compare_and_swap(self, key: bytes, expected: bytes | None, new: bytes | None) -> None:
        same = self.model.get(key) == expected
        assert self.view.compare_and_swap(key, expected, new) == same  # type: ignore[union-attr]
        if same and new is None:
            self.model.pop(key, None)
        elif same and new is not None:
            self.model[key] = new

    @rule(start=ENDS, stop=ENDS)
    def remove_range(self, start: bytes | None, stop: bytes | None) -> None:
        del self.view[start:stop]  # type: ignore[misc]
        for key in selected(self.model, None, start, stop):
            del self.model[key]

    @rule(prefix=ENDS, start=ENDS, stop=ENDS, reverse=st.booleans())
    def ranges(self, prefix: bytes | None, start: bytes | None, stop: bytes | None, reverse: bool) -> None:
        keys = selected(self.model, prefix, start, stop)[:: -1 if reverse else 1]
        rows = self.view.items(prefix=prefix, start=start, stop=stop, reverse=reverse)  # type: ignore[call-arg]
        assert list(rows) == [(key, self.model[key]) for key in keys] and len(rows) == len(keys)

    @rule(start=ENDS, stop=ENDS, key=KEYS, reverse=st.booleans())
    def seek(self, start: bytes | None, stop: bytes | None, key: bytes, reverse: bool) -> None:
        found = self.view.keys(start=start, stop=stop, reverse=reverse).__iter__()  # type: ignore[call-arg]
        found.seek(key)  # type: ignore[attr-defined]
        keys = selected(self.model, None, start, stop)
        assert list(found) == ([k for k in keys[::-1] if k <= key] if reverse else [k for k in keys if k >= key])

    @rule()
    def begin_transaction(self) -> None:
        if self.tx is None:
            self.tx, self.committed = self.db.transaction(), dict(self.model)
            self.view = self.tx[self.keyspace]

    @rule(commit=st.booleans())
    def end_transaction(self, commit: bool) -> None:
        if self.tx is not None:
            if commit:
                self.tx.commit()
            else:
                self.tx.rollback()
                self.model = self.committed
            self.tx, self.view = None, self.keyspace

    @rule(target=snapshots)
    def snapshot(self) -> tuple[skeindb.Snapshot, dict[bytes, bytes]]:
        return self.db.snapshot(), dict(self.model if self.tx is None else self.committed)

    @rule(snapshot=consumes(snapshots))
    def read_snapshot(self, snapshot: tuple[skeindb.Snapshot, dict[bytes, bytes]]) -> None:
        with snapshot[0] as taken:
            assert list(taken[self.keyspace].items()) == sorted(snapshot[1].items())

    @rule()
    def reopen(self) -> None:
        if self.tx is None and self.db.stats().snapshots == 0:
            self.db.close()
            self.db = skeindb.open(self.folder.name + "/db", create=False)
            self.view = self.keyspace = self.db.keyspace("k", create=False)

    @invariant()
    def same_keys(self) -> None:
        if hasattr(self, "view"):
            assert list(self.view) == sorted(self.model)


class DiskMachine(Machine):
    engine = "disk"


SETTINGS = settings(max_examples=12, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
TestMemory = Machine.TestCase
TestMemory.settings = SETTINGS
TestDisk = DiskMachine.TestCase
TestDisk.settings = SETTINGS
