"""A client that openapi-python-client generates from the document reads, writes and is refused as it expects."""

import json
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from store import WebRole
from tests.monitor.web.site import Site
from tests.needs import peer_program

SCRIPT: Final = """
import json, sys
from tablewatch_client import AuthenticatedClient
from tablewatch_client.api.incidents import get_incidents, get_incidents_id, post_incidents, post_incidents_id_resolve
from tablewatch_client.models import OpenBody, ResolveBody, ErrorReply
from tablewatch_client.models import ResolutionWord

address, token = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=token)
made = post_incidents.sync(client=client, body=OpenBody(table="orders", title="late"), idempotency_key='"k1"')
again = post_incidents.sync(client=client, body=OpenBody(table="orders", title="late"), idempotency_key='"k1"')
read = get_incidents_id.sync_detailed(made.id, client=client)
body = ResolveBody(resolution=ResolutionWord.FIXED)
done = post_incidents_id_resolve.sync(made.id, client=client, body=body, if_match=read.headers["etag"])
late = post_incidents_id_resolve.sync(made.id, client=client, body=body, if_match=read.headers["etag"])
assert isinstance(late, ErrorReply)
listed = get_incidents.sync(client=client)
same, number = made.id == again.id, len(listed.incidents)
print(json.dumps([same, read.parsed.title, done.resolution, late.status, late.detail, number]))
"""


@pytest.mark.openapi_client
def test_a_generated_client_works(site: Site, tmp_path: Path) -> None:
    """Every operation is generated without a warning; keys, tags and problems have their types."""
    program = Path(peer_program("openapi_client") or "")
    document = tmp_path / "openapi.json"
    document.write_text(site.signed_in().get("/api/v1/openapi.json").text)
    (tmp_path / "config.yml").write_text("package_name_override: tablewatch_client\n")
    words = [program, "generate", "--path", document, "--meta", "none", "--output-path", "tablewatch_client"]
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    made = subprocess.run(
        [*words, "--config", "config.yml", "--fail-on-warning"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    token = site.token(WebRole.RESPONDER)
    with site.served() as host:
        done = subprocess.run(
            [program.parent / "python", "-c", SCRIPT, f"http://{host}", token],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    number = 1
    detail = f"incident #{number} is at version 2, which is none that If-Match names; read it again"
    assert json.loads(done.stdout) == [True, "late", "fixed", 412, detail, 1]
