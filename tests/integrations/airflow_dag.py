"""A Dag with the operators of `tablewatch-airflow`, run by Airflow's own Python through `dag.test()`.

The state, the error and the XComs of each task are written to the file that is named.
"""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from tablewatch_airflow.hook import log_failure
from tablewatch_airflow.operators import XCOM_KEY, IncidentLink, TablewatchCheckOperator, TablewatchReleaseGate

PROGRAM = {"program": os.environ["SHOP_PROGRAM"], "config": os.environ["SHOP_CONFIG"]}
QUICK = {"poll_interval": 0.1, "timeout": timedelta(minutes=10)}
errors: dict[str, str] = {}


def note_error(context):
    """Remember why a task failed."""
    error = context["exception"]
    errors[context["task"].task_id] = f"{type(error).__name__}: {error}"


with DAG("shop", schedule=None, default_args={"on_failure_callback": note_error}) as dag:
    TablewatchCheckOperator(task_id="passes", selector="orders", **QUICK)
    TablewatchCheckOperator(task_id="passes_deferred", selector=["orders"], deferrable=True, **QUICK)
    logged = {"on_failure_callback": [note_error, log_failure(["refunds"])]}
    TablewatchCheckOperator(task_id="fails", selector="tier:gold", **logged, **QUICK)
    TablewatchCheckOperator(task_id="fails_deferred", selector="refunds", deferrable=True, **QUICK)
    TablewatchCheckOperator(task_id="fails_below_limit", selector="refunds", fail_on="critical", **QUICK)
    TablewatchCheckOperator(task_id="unknown", selector="lost", **QUICK)
    TablewatchCheckOperator(task_id="unknown_skips", selector="lost", on_unknown="skip", **QUICK)
    TablewatchCheckOperator(task_id="unknown_allowed", selector="lost", on_unknown="allow", **QUICK)
    TablewatchCheckOperator(task_id="no_such_table", selector="nothing", **QUICK)
    TablewatchCheckOperator(task_id="viewer", selector="orders", tablewatch_conn_id="viewer", **QUICK)
    TablewatchCheckOperator(task_id="nobody_answers", selector="orders", tablewatch_conn_id="closed", **QUICK)
    TablewatchCheckOperator(task_id="program_fails", selector=["refunds", "type:unique"], **PROGRAM)
    TablewatchCheckOperator(task_id="program_passes", selector="orders", **PROGRAM)
    TablewatchCheckOperator(task_id="program_option", selector="--no-store", **PROGRAM)
    gate = TablewatchReleaseGate(task_id="gate", release="extract")
    gate >> TablewatchCheckOperator(task_id="after_gate", selector="orders", **QUICK)
    skipping = TablewatchReleaseGate(task_id="gate_skips", release="extract", on_hold="skip", **PROGRAM)
    skipping >> TablewatchCheckOperator(task_id="after_skip", selector="orders", **QUICK)
    TablewatchReleaseGate(task_id="gate_opens", release="public", require_approval=False)
    TablewatchReleaseGate(task_id="gate_unknown", release="nothing")


if __name__ == "__main__":
    run = dag.test()
    tasks = {
        instance.task_id: {
            "state": str(instance.state),
            "error": errors.get(instance.task_id),
            "xcom": instance.xcom_pull(task_ids=instance.task_id, key=XCOM_KEY),
            "link": instance.xcom_pull(task_ids=instance.task_id, key=IncidentLink().xcom_key),
        }
        for instance in run.get_task_instances()
    }
    Path(sys.argv[1]).write_text(json.dumps(tasks), encoding="utf-8")
