"""`CommandSimulator` with a real program, compiled here: values, answers, failures, time limits."""

from __future__ import annotations

import math
import struct
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import alive, wait_for

import archeng
from archeng import CommandSimulator, Design, Model, read_json, read_regex
from archeng.errors import SimulatorError
from archeng.simulator import CallStatus, call

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* beam MODE [INPUT]: read "name = value" lines, answer in the way that MODE says. */
int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    double t = 0, w = 0, value;
    char name[100];
    if (argc > 2 && strcmp(mode, "arguments")) {
        FILE *in = fopen(argv[2], "r");
        if (!in) { fprintf(stderr, "no input file %s\n", argv[2]); return 2; }
        while (fscanf(in, " %99s = %lf", name, &value) == 2) {
            if (!strcmp(name, "thickness")) t = value;
            if (!strcmp(name, "width")) w = value;
        }
        fclose(in);
    }
    double mass = t * t + w / 10;
    if (!strcmp(mode, "hex")) printf("t %a\nw %a\nmass = %.17g\n", t, w, mass);
    if (!strcmp(mode, "text")) printf("mass = 0.0\nmass = %.17g\n", mass);
    if (!strcmp(mode, "fortran")) {
        char text[60], *e;
        snprintf(text, sizeof text, "%.16e", mass);
        if ((e = strchr(text, 'e'))) *e = 'D';
        printf("mass = %s\n", text);
    }
    if (!strcmp(mode, "json")) printf("{\"result\": {\"masses\": [0, %.17g]}}\n", mass);
    if (!strcmp(mode, "file")) {
        FILE *out = fopen("out.json", "w");
        fprintf(out, "{\"objective\": %.17g}\n", mass);
        fclose(out);
    }
    if (!strcmp(mode, "arguments")) {
        for (int i = 2; i < argc; i++) printf("[%s]\n", argv[i]);
        printf("mass = 1\n");
    }
    if (!strcmp(mode, "environment")) {
        const char *set = getenv("BEAM_LICENSE"), *old = getenv("HOME");
        printf("mass = %d\n", set && !strcmp(set, "27000@server") && old != NULL);
    }
    if (!strcmp(mode, "fail")) {
        printf("iteration 1\n"); fprintf(stderr, "element 7 is inverted\n"); return 3;
    }
    if (!strcmp(mode, "crash")) { fprintf(stderr, "about to crash\n"); fflush(stderr); abort(); }
    if (!strcmp(mode, "nan")) printf("mass = NaN\n");
    if (!strcmp(mode, "noise")) {
        for (int i = 0; i < 100000; i++) printf("line %d of the log\n", i);
        printf("\xff\xfe mass = 5\n");
    }
    if (!strcmp(mode, "hang") || !strcmp(mode, "orphan")) {
        FILE *out = fopen(argv[3], "a");
        pid_t child = fork();
        if (child == 0) { for (;;) sleep(1000); }
        fprintf(out, "%d\n%d\n", (int)getpid(), (int)child);
        fclose(out);
        printf("meshing\n"); fflush(stdout);
        if (!strcmp(mode, "hang")) for (;;) sleep(1000);
        printf("mass = 2\n");
    }
    return 0;
}
"""
TEMPLATE = "thickness = {{thickness}}\nwidth = {{ width }}\n"
MASS = read_regex(r"mass = (\S+)")


@pytest.fixture(scope="session")
def beam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "beam.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-o", "beam", "beam.c"], cwd=folder, check=True)
    return folder / "beam"


@pytest.fixture(autouse=True)
def no_litter(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Directories of failed calls stay, but not in the system's place."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("calls")))


def model() -> Model:
    model = Model("beam")
    t = model.variable("thickness", lower=1, upper=10, unit="mm")
    w = model.variable("width", lower=5, upper=50, unit="mm")
    model.subject_to(t * w >= 60, name="section")
    return model


def design(t: float = 2.0, w: float = 30.0) -> Design:
    return Design(model().variables, np.array([t, w]))


def simulator(beam: Path, mode: str, *more: str, **options: Any) -> CommandSimulator:
    keywords: dict[str, Any] = {"templates": {"beam.inp": TEMPLATE}, "read": MASS, **options}
    return CommandSimulator([beam, mode, "{input}", *more], **keywords)


def mass(d: Design) -> float:
    return float(d["thickness"] * d["thickness"] + d["width"] / 10)


@pytest.mark.parametrize(
    ("mode", "read"),
    [
        ("text", MASS),
        ("fortran", MASS),
        ("json", read_json("result.masses.1")),
        ("file", read_json(file="out.json")),
        ("file", read_regex(r'"objective": ([0-9.e+-]+)', file="out.json")),
        ("text", lambda folder, output: float(output.split()[-1])),
        ("file", lambda folder, output: float((folder / "out.json").read_text().split()[1][:-1])),
    ],
)
def test_answers(beam: Path, mode: str, read: Any, tmp_path: Path) -> None:
    d = design(math.pi, 100 / 3)
    outcome = call(simulator(beam, mode, read=read, directory=tmp_path), d)
    assert outcome.status is CallStatus.OK, outcome.message
    assert outcome.objective == pytest.approx(mass(d), rel=1e-15)
    assert list(tmp_path.iterdir()) == []  # nothing is kept of a good call


def test_a_reader_that_returns_no_number(beam: Path) -> None:
    outcome = call(simulator(beam, "text", read=lambda folder, output: output), design())
    assert outcome.status is CallStatus.INVALID
    assert "str" in outcome.message


VALUES = [
    (0.1, 1 / 3),
    (math.nextafter(1.0, 2.0), 5e-324),
    (1e300, -1.7976931348623157e308),
    (-0.0, 123456789012345680.0),
    (float(np.pi), 2.2250738585072014e-308),
]


@pytest.mark.parametrize("values", VALUES)
def test_the_program_reads_every_bit(beam: Path, values: tuple[float, float]) -> None:
    def read(folder: Path, output: str) -> float:
        words = output.split()
        seen = [float.fromhex(words[1]), float.fromhex(words[3])]
        assert struct.pack("2d", *seen) == struct.pack("2d", *values)
        return 1.0

    outcome = call(simulator(beam, "hex", read=read), design(*values))
    assert outcome.status is CallStatus.OK, outcome.message


@pytest.mark.slow
def test_the_same_run_as_the_function(beam: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 1, "max_evaluations": 24, "parallel": 2}
    function = archeng.solve(model(), mass, **options)
    for workers in (None, "threads:2", 2):
        program = archeng.solve(
            model(), simulator(beam, "text", directory=tmp_path), workers=workers, **options
        )
        assert [e.x.tobytes() for e in program.evaluations] == [
            e.x.tobytes() for e in function.evaluations
        ]
        assert program.fun == pytest.approx(function.fun, rel=1e-15)
    assert list(tmp_path.iterdir()) == []


def test_exit_codes_keep_the_words_of_the_program(beam: Path, tmp_path: Path) -> None:
    outcome = call(simulator(beam, "fail", directory=tmp_path), design())
    assert outcome.status is CallStatus.FAILED
    for words in ("exit code 3", "element 7 is inverted", "iteration 1", str(tmp_path)):
        assert words in outcome.message
    assert math.isnan(outcome.objective)
    (kept,) = tmp_path.iterdir()
    assert (kept / "stderr.txt").read_text() == "element 7 is inverted\n"
    assert (kept / "stdout.txt").read_text() == "iteration 1\n"
    assert (kept / "beam.inp").read_text() == "thickness = 2.0\nwidth = 30.0\n"


def test_other_exit_codes_may_be_fine(beam: Path) -> None:
    read = read_regex(r"iteration (\d+)")
    outcome = call(simulator(beam, "fail", ok_exit_codes=[0, 3], read=read), design())
    assert (outcome.status, outcome.objective) == (CallStatus.OK, 1.0)
    assert call(simulator(beam, "text", ok_exit_codes=[3]), design()).status is CallStatus.FAILED


def test_a_crash_names_the_signal(beam: Path) -> None:
    outcome = call(simulator(beam, "crash", keep="none"), design())
    assert outcome.status is CallStatus.FAILED
    assert "signal 6" in outcome.message
    assert "about to crash" in outcome.message


@pytest.mark.parametrize(
    ("keep", "after_good", "after_bad"), [("all", 1, 2), ("failed", 0, 1), ("none", 0, 0)]
)
def test_which_directories_stay(
    beam: Path, keep: str, after_good: int, after_bad: int, tmp_path: Path
) -> None:
    place = tmp_path / "made" / "on demand"
    call(simulator(beam, "text", keep=keep, directory=place), design())
    assert len(list(place.iterdir())) == after_good
    call(simulator(beam, "fail", keep=keep, directory=place), design())
    assert len(list(place.iterdir())) == after_bad


@pytest.mark.parametrize(
    "read", [read_regex("force = (.*)"), read_json("mass"), read_json(file="out.json")]
)
def test_answers_that_cannot_be_read(beam: Path, read: Any, tmp_path: Path) -> None:
    outcome = call(simulator(beam, "arguments", read=read, directory=tmp_path), design())
    assert outcome.status is CallStatus.FAILED
    assert "cannot be read" in outcome.message
    assert "mass = 1" in outcome.message
    assert len(list(tmp_path.iterdir())) == 1


def test_a_program_that_answers_nan_is_invalid(beam: Path) -> None:
    assert call(simulator(beam, "nan"), design()).status is CallStatus.INVALID


def test_a_long_log_is_cut_in_messages_only(beam: Path) -> None:
    assert call(simulator(beam, "noise"), design()).objective == 5.0
    outcome = call(simulator(beam, "noise", read=read_json()), design())
    assert "line 99999 of the log" in outcome.message
    assert len(outcome.message) < 12_000


def test_environment(beam: Path) -> None:
    with_licence = simulator(beam, "environment", environment={"BEAM_LICENSE": "27000@server"})
    assert call(with_licence, design()).objective == 1.0
    assert call(simulator(beam, "environment"), design()).objective == 0.0


def test_there_is_no_shell(beam: Path, tmp_path: Path) -> None:
    wild = ["; touch hacked", "$(touch hacked)", "`touch hacked`", "a b", "*", "> x", "'\""]
    program = CommandSimulator(
        [beam, "arguments", *wild, "t={{thickness}}"],
        read=lambda folder, output: float(output.splitlines() == expected(folder)),
        keep="all",
        directory=tmp_path,
    )

    def expected(folder: Path) -> list[str]:
        assert not (folder / "hacked").exists()
        return [*(f"[{text}]" for text in wild), "[t=2.0]", "mass = 1"]

    outcome = call(program, design())
    assert outcome.objective == 1.0, outcome.message


@pytest.mark.parametrize("program", ["no-such-program", "/nowhere/solver", "/etc/passwd", "."])
def test_programs_that_cannot_be_started(program: str) -> None:
    with pytest.raises(SimulatorError, match="cannot be started") as caught:
        archeng.solve(model(), CommandSimulator([program], read=MASS, keep="none"), seed=1)
    assert program in str(caught.value)


@pytest.mark.parametrize("where", ["alone", "pool"])
def test_a_time_limit_kills_the_program_and_its_children(
    beam: Path, where: str, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    if where == "alone":
        program = simulator(beam, "hang", str(pids), timeout=0.5, directory=tmp_path / "calls")
        outcome = call(program, design())
        status, message = outcome.status.value, outcome.message
        assert "0.5 s" in message
        assert "meshing" in message
    else:
        program = simulator(beam, "hang", str(pids), directory=tmp_path / "calls")
        with pytest.raises(SimulatorError) as caught:
            archeng.solve(model(), program, max_evaluations=1, seed=1, timeout=1.0)
        status = caught.value.evaluations[0].status
    assert status == "timed_out"
    found = [int(word) for word in pids.read_text().split()]
    assert len(found) == 2
    wait_for(lambda: not any(alive(pid) for pid in found), "the end of the program")


def test_children_that_a_program_leaves_behind_are_killed(beam: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert call(simulator(beam, "orphan", str(pids)), design()).objective == 2.0
    found = [int(word) for word in pids.read_text().split()]
    wait_for(lambda: not any(alive(pid) for pid in found), "the end of the child")


def test_two_runs_in_one_process_do_not_kill_each_others_programs(tmp_path: Path) -> None:
    """One run gives up a call of its own while a program of the other is under way."""
    script = f"touch {tmp_path}/started; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo 5"
    program = CommandSimulator(["sh", "-c", script], read=read_regex(r"(\d)"), keep="none")
    other: list[Any] = []

    def run_the_program() -> None:
        try:
            other.append(archeng.solve(model(), program, max_evaluations=1, seed=1))
        except SimulatorError as error:
            other.append(error)

    thread = threading.Thread(target=run_the_program)
    thread.start()
    wait_for((tmp_path / "started").exists, "the program")
    designs = [c.design for c in archeng.Run(model(), seed=1).ask()]
    both_begun, over = threading.Barrier(2), threading.Event()

    def reach_the_target(design: Design) -> float:
        if design == designs[0]:
            return 1.0
        both_begun.wait(60)
        if design != designs[1]:
            over.wait(60)
        return -1.0

    result = archeng.solve(model(), reach_the_target, seed=1, target=0.0, workers="threads:2")
    over.set()
    (tmp_path / "go").touch()
    thread.join()
    assert result.nfev == 2
    assert [e.status for e in other[0].evaluations] == ["ok"], other[0]
