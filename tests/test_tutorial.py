"""The tutorial through a real Jupyter server, on a tiny study and a cold cache, as a browser runs and saves it."""

import json
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.request import Request, urlopen

import nbformat
import pytest
from websocket import create_connection

TUTORIAL = Path(__file__).parents[1] / "notebooks" / "tutorial.ipynb"
TOKEN = "a-token"


@pytest.fixture
def server(root):
    """The address of a server over the study's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = [f"--port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}", "--allow-root"]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", *settings]
    with (root / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as running:
        for _ in range(300):
            try:
                urlopen(f"http://127.0.0.1:{port}/api?token={TOKEN}")
                break
            except OSError:
                time.sleep(0.2)
        yield f"127.0.0.1:{port}"
        running.terminate()


def call(server, method, path, content):
    url = f"http://{server}/api/{path}?token={TOKEN}"
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, json.dumps(content).encode(), headers, method=method)) as answer:
        return json.load(answer)


def outputs(kernel, source):
    """What a cell shows when its code is run, each display in its last state."""
    asked = uuid.uuid4().hex
    header = {"msg_id": asked, "msg_type": "execute_request", "username": "", "session": "tests", "version": "5.3"}
    message = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell"}
    kernel.send(json.dumps(message | {"content": {"code": source, "silent": False, "store_history": True}}))
    found, shown = [], {}
    while True:
        said = json.loads(kernel.recv())
        if said["parent_header"].get("msg_id") != asked:
            continue
        kind, content = said["msg_type"], said["content"]
        place = content.get("transient", {}).get("display_id")
        if kind == "status" and content["execution_state"] == "idle":
            return found
        if kind == "update_display_data":
            shown[place]["data"] = content["data"]
        elif kind in ("stream", "display_data", "execute_result", "error"):
            content.pop("transient", None)
            found.append(nbformat.v4.new_output(kind, **content))
            shown[place] = found[-1]


def test_the_tutorial_runs_on_a_jupyter_server_and_is_saved_without_progress(root, server):
    notebook = nbformat.read(TUTORIAL, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cells[1].source = cells[1].source.replace('"sample"', '"tiny"')
    asked = {"path": "tutorial.ipynb", "name": "", "type": "notebook", "kernel": {"name": "python3"}}
    session = call(server, "POST", "sessions", asked)
    kernel = create_connection(
        f"ws://{server}/api/kernels/{session['kernel']['id']}/channels?token={TOKEN}", timeout=300
    )
    for cell in cells:
        cell.outputs = outputs(kernel, cell.source)
        assert not [output for output in cell.outputs if output.output_type == "error"], cell.outputs
    kernel.close()
    call(server, "PUT", "contents/tutorial.ipynb", {"type": "notebook", "format": "json", "content": notebook})
    saved = nbformat.read(root / "tutorial.ipynb", as_version=4)
    texts = [cell.get("outputs", []) for cell in saved.cells]
    written = json.dumps(texts)
    assert "\\r" not in written
    assert "run/s" not in written
    ranked = texts[9][0]["text"].splitlines()
    assert len(ranked) == 4
    assert [float(line.split()[0]) for line in ranked] == sorted(
        (float(line.split()[0]) for line in ranked), reverse=True
    )
    assert "image/png" in texts[12][-1]["data"]
