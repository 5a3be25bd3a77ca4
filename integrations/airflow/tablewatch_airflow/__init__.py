"""Airflow 3 provider of Tablewatch: run checks, and stop at a release that is on hold.

    operators ──> hook ──> HTTP: /api/v1 of `tablewatch serve`        (the daemon checks)
        │   └───> program ──> the command `tablewatch` of an environment of its own
        └───────> triggers ──> hook                                   (deferred: no worker waits)
    verdict: what results mean for a task; knows neither Airflow nor HTTP

Tablewatch is never imported: its dependencies and Airflow's have bounds that exclude each other.
"""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return what Airflow's provider manager reads."""
    return {
        "package-name": "tablewatch-airflow",
        "name": "Tablewatch",
        "description": "Run data checks and stop at releases on hold.",
        "operators": [{"integration-name": "Tablewatch", "python-modules": ["tablewatch_airflow.operators"]}],
        "hooks": [{"integration-name": "Tablewatch", "python-modules": ["tablewatch_airflow.hook"]}],
        "triggers": [{"integration-name": "Tablewatch", "python-modules": ["tablewatch_airflow.triggers"]}],
        "extra-links": ["tablewatch_airflow.operators.IncidentLink"],
        "connection-types": [
            {
                "connection-type": "tablewatch",
                "hook-class-name": "tablewatch_airflow.hook.TablewatchHook",
                "hook-name": "Tablewatch",
                "conn-fields": {
                    "public_url": {
                        "label": "Address for browsers, where it is not that of 'Address'",
                        "schema": {"type": ["string", "null"]},
                    }
                },
                "ui-field-behaviour": {
                    "hidden-fields": ["schema", "port", "login", "extra"],
                    "relabeling": {"host": "Address", "password": "Token"},
                    "placeholders": {
                        "host": "https://tablewatch.example.org",
                        "password": "tww_..., of 'tablewatch account token add airflow --role responder'",
                    },
                },
            }
        ],
    }
