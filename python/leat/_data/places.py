# SPDX-License-Identifier: Apache-2.0
"""Methods of a dataset about the place where its iteration stands: as a line of text, and to go on from one."""
from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .._base.errors import StateError
from .run import CURSOR, Cursor

if TYPE_CHECKING:
    from .dataset import Dataset


class Places:
    """A part of Dataset."""

    @property
    def _whole(self) -> Dataset:
        return cast("Dataset", self)

    def state(self, epoch: int | None = None, step: int = 0) -> str:
        """Where the last iteration stands, as a line of text; or the place after `step` batches of iteration `epoch`,
        which is what frameworks need that take batches ahead of the model.

            open("state.txt", "w").write(ds.state())
            ds.restore(open("state.txt").read())      # the next iteration goes on there
        """
        whole = self._whole
        feed, runs = whole._plan(), whole._runs
        if epoch is None:
            last = runs.last() if runs.last else None
            if last is not None and last._feed is not None and last._feed.pending is None:
                return last._feed.pipeline.state()
            return feed.state_at(runs.place())
        if epoch < 0 or step < 0:
            raise ValueError(f"state(): epoch and step count from 0, not {epoch} and {step}")
        turns = feed.pipeline.size()[2]
        return feed.state_at(feed.after(Cursor(epoch * max(turns, 1)), step))

    @property
    def epoch(self) -> int:
        """The number of the iteration that comes next, from 0; behind restore() that of the one which goes on.

            while ds.epoch < 10:
                for images, labels in ds: ...
        """
        runs = self._whole._runs
        runs.check()
        return runs.following().epoch // max(self._whole._plan().pipeline.size()[2], 1)

    def restore(self, state: str, resize_batch: bool = False) -> None:
        """The next iteration goes on where state() was taken; refuses the state of another pipeline or other data.

            ds.restore(open("state.txt").read())
            ds.batch(global_size=512).restore(state, resize_batch=True)     # it was saved with 640

        state: what state() gave
        resize_batch: the batch of all ranks together may have another size now: goes on at the same sample, and every sample
            of the epoch comes once
        """
        from .dataset import Seed

        if not isinstance(state, str):
            raise TypeError(f"restore(): the state is a text, not {type(state).__name__}")
        found = CURSOR.search(state)
        whole = self._whole
        runs = whole._runs
        runs.check()
        if found and whole._given_seed() is None and int(found[3]) != whole.seed:
            whole.close()  # no seed was given: that of the run which is continued
            whole._seed = Seed(int(found[3]))
        checked = whole._open(synchronous=True, config={"resize_batch": resize_batch})
        checked.pipeline.restore(state)
        now = checked.pipeline.state()
        with runs.lock:
            old, runs.plan = runs.plan, checked
            before, runs.resized = runs.resized, now if " from=" in now.partition(" text=")[0] else None
            idle = runs.idle if before or runs.resized else None  # it knows of other sizes
            if idle is not None:
                runs.idle = None
        if idle is not None:
            idle.close()
        if old is not None:
            old.close()
        if found is None:
            raise StateError("this is not the state of a pipeline")
        checked.at = None
        runs.seek(Cursor(int(found[1]), int(found[2])))
