"""Other processes: killed, forked, and two at one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import skeindb
from conftest import OpenFolder


def python(program: str, *args: object) -> subprocess.Popen[str]:
    """Starts a program in an interpreter of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, args)], stdout=subprocess.PIPE, text=True
    )


def test_acknowledged_writes_survive_kill_9(engine: str, reopen: OpenFolder, tmp_path: Path) -> None:
    writer = python(
        """
        import sys, skeindb
        db = skeindb.open(sys.argv[1], engine=sys.argv[2], durability="sync")
        birds = db.keyspace("birds")
        for n in range(1_000_000):
            with db.transaction() as tx:
                tx[birds][b"a%d" % n] = b"x" * (n % 700)
                tx[db][b"b%d" % n] = b""
            print(n, flush=True)
        """,
        tmp_path / "db",
        engine,
    )
    assert writer.stdout is not None
    acknowledged = -1
    for line in writer.stdout:
        acknowledged = int(line)
        if acknowledged == 40:
            writer.send_signal(signal.SIGKILL)
    assert writer.wait() == -signal.SIGKILL and acknowledged >= 40
    with reopen() as db:
        birds = db.keyspace("birds", create=False)
        assert all(birds[b"a%d" % n] == b"x" * (n % 700) and b"b%d" % n in db for n in range(acknowledged + 1))
        assert len(birds) == len(db) <= acknowledged + 2, "a transaction is whole or absent"


def test_a_normal_exit_loses_nothing(engine: str, reopen: OpenFolder, tmp_path: Path) -> None:
    """Also without a close: neither `buffered` nor `none` has written everything by itself."""
    for durability in ("buffered", "none"):
        writer = python(
            """
            import sys, skeindb
            kept_by_a_cycle = [skeindb.open(sys.argv[1], engine=sys.argv[2], durability=sys.argv[3])]
            kept_by_a_cycle.append(kept_by_a_cycle)
            kept_by_a_cycle[0][sys.argv[3].encode()] = b"here"
            """,
            tmp_path / "db",
            engine,
            durability,
        )
        assert writer.wait() == 0
    with reopen() as db:
        assert dict(db) == {b"buffered": b"here", b"none": b"here"}


def test_a_folder_is_open_once(engine: str, reopen: OpenFolder, tmp_path: Path) -> None:
    with reopen() as db:
        db[b"a"] = b""
        with pytest.raises(skeindb.LockedError, match="in use by this process, .*; close it first, use what is open, or choose another"):
            reopen()
        other = python(
            """
            import sys, skeindb
            try:
                skeindb.open(sys.argv[1], engine=sys.argv[2])
            except skeindb.LockedError as error:
                print(error)
            """,
            tmp_path / "db",
            engine,
        )
        answer = other.communicate()[0]
        assert f"in use by process {os.getpid()}" in answer and "stop that process, or choose another" in answer
    with reopen() as db:
        assert b"a" in db


def test_a_forked_child_gets_errors_and_the_parent_goes_on(engine: str, reopen: OpenFolder, tmp_path: Path) -> None:
    child_program = """
        import os, sys, skeindb
        db = skeindb.open(sys.argv[1], engine=sys.argv[2])
        db[b"a"] = b"1"
        rows, tx, snapshot = iter(db.items()), db.transaction(), db.snapshot()
        child = os.fork()
        if child == 0:
            calls = [lambda: db[b"a"], lambda: db.insert(b"b", b""), lambda: next(rows), lambda: tx[db][b"a"],
                     lambda: snapshot[db][b"a"], lambda: db.transaction(), tx.commit, db.flush, db.close,
                     lambda: db.keyspace("x"), lambda: len(db), db.stats]
            for number, call in enumerate(calls):
                try:
                    call()
                    os._exit(100 + number)
                except skeindb.ForkedError as error:
                    if "open one in the child instead" not in str(error):
                        os._exit(200 + number)
            with skeindb.open(sys.argv[1] + ".child", engine=sys.argv[2]) as own:
                own[b"c"] = b""
            # The objects of the parent's database are destroyed here, and the interpreter ends.
            del db, rows, tx, snapshot
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        db[b"p"] = b"2"
        tx[db][b"t"] = b"3"
        tx.commit()
        print(dict(db))
        """
    program = python(child_program, tmp_path / "db", engine)
    assert program.stdout is not None
    try:
        answer = program.communicate(timeout=120)[0].splitlines()
    finally:
        program.kill()
    assert answer == ["7", "{b'a': b'1', b'p': b'2', b't': b'3'}"]
    with reopen() as db:
        assert dict(db) == {b"a": b"1", b"p": b"2", b"t": b"3"}
    with skeindb.open(f"{tmp_path / 'db'}.child", create=False) as own:
        assert list(own) == [b"c"]


def test_ctrl_c_ends_a_long_read(tmp_path: Path) -> None:
    """`list` runs no code of Python between the rows, so the iterator itself must notice."""
    reader = python(
        """
        import signal, skeindb, sys
        # A shell starts its background jobs with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = skeindb.memory()
        db.bulk_load((b"%09d" % n, b"") for n in range(20_000))
        keys = iter(db)
        class Endless:
            def __iter__(self): return self
            def __next__(self):
                keys.seek(b"")
                list(keys)
        try:
            print("reading", flush=True)
            list(Endless())
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
    reader.send_signal(signal.SIGINT)
    assert reader.communicate(timeout=120)[0] == "interrupted\n" and reader.returncode == 0
