"""A deployment with the settings of a test, examined as `memstream doctor` does it."""

import os

from memstream.clock import now
from memstream.doctor import examine


async def examined(monkeypatch, folder, clock=now, **settings):
    """Return what is found, each part's first line by its name, and all lines."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    for name in [*os.environ]:
        if name.startswith("MEMSTREAM_"):
            monkeypatch.delenv(name)
    usual = {"data_dir": folder / "data", "embedder": "none", "web_port": 0}
    for name, value in (usual | settings).items():
        monkeypatch.setenv(f"MEMSTREAM_{name.upper()}", str(value))
    return Report(await examine(clock))


class Report:
    """What was found."""

    def __init__(self, findings):
        self.findings = findings
        self.lines = [str(finding) for finding in findings]
        assert not any("\n" in line or "Traceback" in line for line in self.lines), self.lines
        # Whatever is wrong, it is told what to do about it.
        assert all(finding.remedy for finding in findings if finding.state != "ok"), self.lines

    def of(self, part):
        (line,) = [line for line in self.lines if line[6:].startswith(f"{part}: ")]
        return line

    @property
    def failed(self):
        return [finding.part for finding in self.findings if finding.state == "fail"]
