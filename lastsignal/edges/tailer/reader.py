"""Gives every file its turn, and hands on what it says. The only one who sends."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.to_thread
from anyio.abc import ObjectSendStream

from lastsignal.edges.tailer.fleet import Fleet
from lastsignal.edges.tailer.holder import Holder
from lastsignal.edges.tailer.keeper import Keeper
from lastsignal.edges.tailer.kinship import Beginning, Kinship, look_into
from lastsignal.edges.tailer.marks import NOTHING
from lastsignal.edges.tailer.piece import Piece, State
from lastsignal.edges.tailer.tailed import EVERYTHING, Outcome, Phase, Step, TailedFile, read_step
from lastsignal.edges.tailer.trouble import TroubleKind
from lastsignal.edges.tailer.unpacking import CorruptError

_FILES_AT_ONCE = 16

_Result = Step | Beginning | OSError | None


class Reader:
    """Reads one chunk of one file after another; waits while the consumer is behind."""

    def __init__(
        self,
        fleet: Fleet,
        holder: Holder,
        keeper: Keeper,
        kinship: Kinship,
        now: Callable[[], float],
    ) -> None:
        self._fleet = fleet
        self._config = fleet.config
        self._holder = holder
        self._keeper = keeper
        self._kinship = kinship
        self._now = now
        self.is_draining = False

    async def run(self, stream: ObjectSendStream[Piece]) -> None:
        """Read until drained; for ever if nobody asks for that."""
        at_once = min(_FILES_AT_ONCE, self._config.max_open_files)
        while True:
            self._fleet.turns.wake = anyio.Event()
            while self._fleet.partings:
                await stream.send(self._fleet.partings.popleft())
            if files := self._fleet.turns.next_ready(
                at_once, may_force=not self._fleet.awaits_news
            ):
                await self._take_turns(files, stream)
            elif self.is_draining and self._fleet.is_settled:
                return
            elif not self._fleet.partings:
                await self._fleet.turns.wake.wait()

    async def _take_turns(self, files: list[TailedFile], stream: ObjectSendStream[Piece]) -> None:
        """Give each its turn; what waits for the disk is done for all of them at once."""
        self._fleet.turns.current = dict.fromkeys(files)
        try:
            files = [file for file in files if self._has_content(file)]
            await self._holder.open(files)
            for file in files:
                if file.descriptor is None:
                    file.is_queued = False
            files = [file for file in files if file.descriptor is not None]
            for file, result in await anyio.to_thread.run_sync(self._work_on, files):
                await self._note(file, result, stream)
        finally:
            self._fleet.turns.current = {}
        self._keeper.settle()

    def _has_content(self, file: TailedFile) -> bool:
        file.is_dirty = False
        if file.is_parted:
            file.is_queued = False
        elif file.phase is Phase.WAITING:
            file.is_queued = False
            self._fleet.reconsider(file)
        else:
            return True
        return False

    def _work_on(self, files: list[TailedFile]) -> list[tuple[TailedFile, _Result]]:
        """Take one step with each. Runs in a thread."""
        return [(file, self._work_on_one(file)) for file in files]

    def _work_on_one(self, file: TailedFile) -> _Result:
        try:
            if file.phase is Phase.NEW:
                return look_into(file, self._config.fingerprint_bytes)
            return read_step(file, self._config.chunk_bytes, self._config.fingerprint_bytes)
        except CorruptError as error:
            return Step(Outcome.CORRUPT, detail=str(error))
        except OSError as error:
            return error

    async def _note(
        self, file: TailedFile, result: _Result, stream: ObjectSendStream[Piece]
    ) -> None:
        if isinstance(result, Step):
            await self._note_step(file, result, stream)
        elif isinstance(result, OSError):
            self._note_fault(file, result)
        else:
            await self._kinship.judge(file, result)

    def _note_fault(self, file: TailedFile, error: OSError) -> None:
        self._holder.close(file)
        file.is_queued = False
        if not file.is_unreadable:
            file.is_unreadable = True
            self._fleet.trouble(TroubleKind.UNREADABLE, file.path, str(error))

    async def _note_step(
        self, file: TailedFile, step: Step, stream: ObjectSendStream[Piece]
    ) -> None:
        if step.outcome in (Outcome.CUT, Outcome.REPLACED):
            self._note_cut(file, is_replaced=step.outcome is Outcome.REPLACED)
        elif step.outcome is Outcome.CORRUPT:
            self._note_corrupt(file, step.detail)
        elif step.outcome is Outcome.NOTHING:
            self._fleet.turns.rest(file)
        else:
            await self._note_progress(file, step, stream)

    def _note_corrupt(self, file: TailedFile, detail: str) -> None:
        self._fleet.trouble(TroubleKind.CORRUPT, file.path, detail)
        file.stream = None  # begins anew if it changes
        if file.phase is Phase.FOLLOWED and not file.told_end:
            file.told_end = True
            self._fleet.partings.append(file.piece(b"", State.AT_END))
        self._fleet.turns.rest(file)

    async def _note_progress(
        self, file: TailedFile, step: Step, stream: ObjectSendStream[Piece]
    ) -> None:
        self._note_read(file, step)
        is_end = step.outcome is Outcome.END
        is_news = bool(step.data) or (is_end and not file.told_end)
        file.told_end = is_end
        if is_news:
            await stream.send(file.piece(step.data, State.AT_END if is_end else State.DATA))
        if file.phase is not Phase.FOLLOWED:  # dropped while the consumer was behind
            return
        if not is_end:
            self._fleet.turns.requeue(file)
            return
        self._fleet.turns.rest(file)
        if not file.is_queued:
            self._fleet.release_waiting(file, deleted=file.displaced_at is None)

    def _note_read(self, file: TailedFile, step: Step) -> None:
        file.through = None
        file.home = file.path
        file.is_verified = True
        file.is_unreadable = False
        file.generation = step.generation
        file.offset, file.tail = step.offset, step.tail
        file.seen = step.seen
        self._fleet.note_head(file, step.head)
        if file.resume_offset is not None and step.offset == file.resume_offset:
            file.resume_offset = None
        if step.data:
            self._holder.touch(file)

    def _note_cut(self, file: TailedFile, *, is_replaced: bool) -> None:
        now = self._now()
        if file.through is not None:
            self._fleet.undo_absorb(file, now)
            return
        if not file.is_told:
            file.stream = None
            self._fleet.note_head(file, NOTHING)
            self._fleet.reconsider(file)
            self._fleet.release_waiting(file)
            return
        successor = TailedFile(file.path, file.key, now, changed_at=now)
        successor.after = [(file, EVERYTHING)]
        successor.descriptor, file.descriptor = file.descriptor, None
        successor.displaced_at = file.displaced_at
        successor.real_path = file.real_path
        paths = file.paths
        self._fleet.part(file, Phase.LOST if is_replaced else Phase.CUT, now)
        if not is_replaced:  # else it may be the very copy, on an inode that was free by then
            successor.not_kin = [file]
        self._fleet.place(successor, successor.key, paths, successor.path)
        self._fleet.held[successor] = None
        self._fleet.turns.queue(successor)
