import errno
import os

import pytest
from filelock import Timeout

from as2lib.locks import file_lock, lock


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_without_locks_is_refused_and_not_waited_for(own_root, monkeypatch, number):
    def flock(file, operation):
        raise OSError(number, os.strerror(number))

    (own_root / "work" / "locks").mkdir(parents=True)
    (own_root / "work" / "locks" / "run.lock").write_text("1\nanother machine\n")  # of a process that was killed
    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(OSError):
        lock("run", "a run")


def test_a_lock_is_held_once(own_root):
    with lock("run", "a run"), pytest.raises(Timeout):
        file_lock("run").acquire(blocking=False)
    file_lock("run").acquire(blocking=False).lock.release()
