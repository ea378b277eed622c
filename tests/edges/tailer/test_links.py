"""Symbolic links, as Kubernetes lays them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any


async def test_a_link_that_is_pointed_elsewhere_gives_both_targets_to_their_last_byte(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    link = links / "current.jsonl"
    append(real / "0.log", numbered(0, 100))
    link.symlink_to(real / "0.log")
    async with tailing(links / "*.jsonl") as sink:
        await sink.until_lines(numbered(0, 100).splitlines())
        for target in range(1, 4):
            append(real / f"{target}.log", numbered(target * 100, target * 100 + 50))
            fresh = links / ".fresh"
            fresh.symlink_to(real / f"{target}.log")
            fresh.rename(link)
            append(real / f"{target}.log", numbered(target * 100 + 50, target * 100 + 100))
            late = [b"late %d" % number for number in range(1, target)]
            await sink.until_lines(numbered(0, target * 100 + 100).splitlines() + late)
            append(real / f"{target - 1}.log", b"late %d\n" % target)
            late.append(b"late %d" % target)
            await sink.until_lines(numbered(0, target * 100 + 100).splitlines() + late)
        await sink.drain()
    assert len(sink.contents) == 4


async def test_rotation_beside_the_file_that_a_link_leads_to_loses_nothing(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    pods, containers = tmp_path / "pods", tmp_path / "containers"
    pods.mkdir()
    containers.mkdir()
    (containers / "agent.log").symlink_to(pods / "0.log")
    append(pods / "0.log", numbered(0, 100))
    async with tailing(containers / "*.log") as sink:
        await sink.until_lines(numbered(0, 100).splitlines())
        for round_ in range(1, 4):
            append(pods / "0.log", b"tail %d\n" % round_)
            (pods / "0.log").rename(pods / f"0.log.2026010{round_}-000000")
            append(pods / "0.log", numbered(round_ * 100, round_ * 100 + 100))
            await sink.until(
                lambda: numbered(round_ * 100, round_ * 100 + 100) in sink.text  # noqa: B023
            )
        await sink.drain()
    tails = [b"tail 1", b"tail 2", b"tail 3"]
    assert sorted(sink.lines) == sorted(numbered(0, 400).splitlines() + tails)
    assert len(sink.files) == 4


async def test_a_file_that_is_matched_itself_and_by_a_link_is_read_once(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "real.jsonl", numbered(0, 10))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    (tmp_path / "broken.jsonl").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop").symlink_to(tmp_path)
    async with tailing(tmp_path) as sink:
        await sink.until_lines(numbered(0, 10).splitlines())
        append(tmp_path / "real.jsonl", numbered(10, 20))
        await sink.until_lines(numbered(0, 20).splitlines())
        await sink.drain()
    assert len(sink.files) == 1
    assert not sink.troubles
