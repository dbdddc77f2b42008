"""The server of the dashboard: who is answered, and that the journal is only read."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_studies import STUDIES, run

import archeng
from archeng.cli import main
from archeng.dashboard import DashboardServer, Live
from archeng.errors import JournalError, SettingsError

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dashboard") / "run.db"
    run("can", journal=path, max_evaluations=14)
    return path


@pytest.fixture(scope="module")
def server(journal: Path) -> Iterator[DashboardServer]:
    made = DashboardServer(Live(journal), 0)
    thread = threading.Thread(target=made.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def ask(
    server: DashboardServer, path: str = "/", method: str = "GET", **headers: str | None
) -> Answer:
    """Send a request; headers replace the usual ones, None leaves one out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{server.port}", **headers}.items():
        if value is not None:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("path", ["/", "/app.js", "/app.css", "/state", "/figure/activity.svg"])
def test_pages_are_safe(server: DashboardServer, path: str) -> None:
    status, headers, body = ask(server, path)
    assert status == 200
    assert body
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    if "svg" not in path:
        assert "unsafe" not in policy
        assert b"style=" not in body
        assert not re.search(rb"<script>|\son\w+=", body)
    assert "Python" not in headers["Server"]


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:{port}", ""],
)
@pytest.mark.parametrize("path", ["/", "/state", "/figure/activity.svg"])
def test_foreign_hosts_are_refused(server: DashboardServer, host: str, path: str) -> None:
    status, _, body = ask(server, path, Host=host.format(port=server.port))
    assert status == 403
    assert b"can" not in body.replace(b"not", b"")
    assert ask(server, path, Host=None)[0] == 403


def test_own_names_are_answered(server: DashboardServer) -> None:
    for name in ("127.0.0.1", "localhost"):
        origin = f"http://{name}:{server.port}"
        assert ask(server, "/state", Host=f"{name}:{server.port}", Origin=origin)[0] == 200
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), 5)


def test_other_sites_are_refused(server: DashboardServer) -> None:
    for headers in (
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
    ):
        assert ask(server, "/state", **headers)[0] == 403, headers
    # A link to the dashboard may be followed.
    assert ask(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "FOO"])
def test_only_get(server: DashboardServer, method: str) -> None:
    status, headers, _ = ask(server, "/state", method)
    assert (status, headers["Allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/figure/pie.svg", "/figure/simulated.svg", "/figure/../../etc/passwd",
     "/figure/%2e%2e%2fstate.svg", "/assets/dashboard.js", "/run.db"],
)  # fmt: skip
def test_there_is_nothing_else(server: DashboardServer, path: str) -> None:
    assert ask(server, path)[0] == 404


def test_state_is_short_for_those_who_know_it(server: DashboardServer) -> None:
    whole = json.loads(ask(server, "/state")[2])
    assert whole["name"] == "can"
    assert whole["state"] == "ended"
    assert [s["key"] for s in whole["sections"]][:2] == ["summary", "best"]
    short = json.loads(ask(server, f"/state?version={whole['version']}")[2])
    assert set(short) == {"version", "age", "error"}
    for strange in ("-1", "x", "9" * 40, "²"):
        assert "sections" in json.loads(ask(server, f"/state?version={quoted(strange)}")[2])


def quoted(value: str) -> str:
    from urllib.parse import quote

    return quote(value)


# -- following a journal -----------------------------------------------------------------------


def test_the_journal_is_only_read(journal: Path) -> None:
    def contents() -> dict[str, Any]:
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in journal.parent.iterdir()}

    before = contents()
    live = Live(journal)
    live.refresh()
    live.figure("convergence")
    assert contents() == before


def test_a_view_changes_with_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    run("can", journal=path, max_evaluations=8)
    live = Live(path)
    first = live.state("0")
    figure = live.figure("activity")
    live.refresh()
    assert live.state("0")["version"] == first["version"]  # nothing was read again
    assert live.figure("activity") is figure
    archeng.resume(path, STUDIES["can"][1], max_evaluations=12)
    live.refresh()
    second = live.state(str(first["version"]))
    assert second["version"] > first["version"]
    assert "12 of 12" in second["sections"][0]["html"]
    assert live.figure("activity") != figure
    path.rename(tmp_path / "away.db")
    live.refresh()
    third = live.state(str(second["version"]))
    assert "no such journal" in third["error"]
    (tmp_path / "away.db").rename(path)
    live.refresh()
    assert live.state("0")["error"] == ""


def test_a_thread_follows(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    run("can", journal=path, max_evaluations=6)
    live = Live(path, look=0.02)
    live.start()
    try:
        archeng.resume(path, STUDIES["can"][1], max_evaluations=9)
        for _ in range(600):
            if "9 of 9" in str(live.state("0")):
                break
            threading.Event().wait(0.05)
        assert "9 of 9" in str(live.state("0"))
    finally:
        live.close()


def test_ports(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = Live(journal)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} cannot be used"):
            DashboardServer(live, port)
        assert main(["dashboard", str(journal), "--port", str(port), "--no-browser"]) == 2
        assert "--port" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="port 99999"):
        DashboardServer(live, 99999)
    first, second = DashboardServer(live), DashboardServer(live)  # the usual one, and a free one
    assert first.port != second.port
    first.server_close()
    second.server_close()


def test_a_journal_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(JournalError, match="no such journal"):
        Live(tmp_path / "none.db")
    assert main(["dashboard", str(tmp_path / "none.db"), "--no-browser"]) == 2
    assert "no such journal" in capsys.readouterr().err


def test_the_command_ends_with_ctrl_c(journal: Path) -> None:
    command = [sys.executable, "-m", "archeng", "dashboard", str(journal), "--no-browser"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/state")
    assert json.loads(connection.getresponse().read())["name"] == "can"
    connection.close()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
