"""Budgeted questions by the role and token `ask`: what it may, what it may not, and what neighbouring tables show."""

import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from monitor.answers.data_set import DataSet
from monitor.config.project import Project
from monitor.verbs.verb import Access
from monitor.web.routes import routes
from store import WebRole
from tests.monitor.web.site import Site

BUDGETS = """
budgets:
  orders:
    total: 1000
    domain:
      customer: [ann, bob]
      amount: {low: 0, high: 100, grid: 0.5}
"""
COUNT = {"table": "orders", "statistic": "count", "epsilon": "0.5"}


@pytest.fixture
def web_section() -> str:
    """Return a budget."""
    return BUDGETS


@pytest.fixture
def asking(site: Site) -> Any:
    """Return a program that may ask about `orders`."""
    _create(site.project, site)
    return site.client(authorization=f"Bearer {site.token(WebRole.ASK, 'analyst')}")


def _create(project: Project, site: Site) -> None:
    budget = DataSet.of(project, "orders").budget
    project.ledger(site.store).create(budget, actor="mia", now=site.clock.now())


def _sql(site: Site, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(site.project.loaded.path.parent / "shop.sqlite")) as connection:
        connection.execute(statement, values)
        connection.commit()


def test_questions_of_a_minute_are_limited_for_each_who_asks(site: Site, asking: Any) -> None:
    """Also those that are refused; nothing is charged beyond, others may ask, and a minute later it goes on."""
    price = {**COUNT, "epsilon": "0.001"}
    codes = [asking.post("/api/v1/ask/plan", json={**price, "table": "gone"}).status_code for _ in range(58)]
    assert set(codes) == {404}
    assert [asking.post("/api/v1/ask", json=price).status_code for _ in range(3)] == [200, 200, 429]
    refused = asking.post("/api/v1/ask/plan", json=price)
    assert (refused.status_code, int(refused.headers["retry-after"]) <= 61) == (429, True)
    other = site.client(authorization=f"Bearer {site.token(WebRole.ASK, 'other')}")
    assert other.post("/api/v1/ask", json=price).json()["budget"]["spent"] == "0.003"
    site.clock.advance(timedelta(seconds=61))
    assert asking.post("/api/v1/ask", json=price).status_code == 200


def test_a_question_is_charged_answered_and_stored(site: Site, asking: Any) -> None:
    """An answer costs its price once; under its id it is given again at no cost, and recorded by who asked."""
    first = asking.post("/api/v1/ask", json={**COUNT, "request_id": "mine"})
    assert first.status_code == 200
    answer = first.json()
    assert (answer["schema"], answer["cost"], answer["repeated"]) == ("tablewatch.answer/1", "0.5", False)
    again = asking.post("/api/v1/ask", json={**COUNT, "request_id": "mine"}).json()
    assert (again["answer"], again["repeated"], again["budget"]["spent"]) == (answer["answer"], True, "0.5")
    other = asking.post("/api/v1/ask", json={**COUNT, "epsilon": "0.25", "request_id": "mine"})
    assert (other.status_code, other.json()["errors"][0]["code"]) == (409, "answer.other-content")
    (given,) = site.project.ledger(site.store).answers("orders", "row", limit=5)
    assert given.actor == "analyst (token)"


def test_a_plan_costs_nothing_and_reads_nothing(site: Site, asking: Any) -> None:
    """The cost and the noise are known without the table: it may be gone."""
    _sql(site, "DROP TABLE orders")
    plan = asking.post("/api/v1/ask/plan", json={**COUNT, "statistic": "sum", "column": "amount"})
    assert plan.status_code == 200
    assert (plan.json()["cost"], plan.json()["budget"]["spent"]) == ("0.5", "0")
    lost = asking.post("/api/v1/ask", json=COUNT)
    assert (lost.status_code, lost.json()["errors"][0]["code"]) == (503, "answer.not_computed")
    assert asking.get("/api/v1/ask").json()["tables"][0]["budget"]["spent"] == "0.5"


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"table": "nothing"}, 404, "budget.not_declared"),
        ({"epsilon": "2000"}, 409, "answer.spent"),
        ({"epsilon": None}, 422, "answer.no_price"),
        ({"epsilon": "-1"}, 422, None),
        ({"statistic": "sum", "column": "id"}, 422, None),
        ({"statistic": "histogram", "by": ["city"]}, 422, None),
        ({"statistic": "raw"}, 422, "request.invalid"),
        ({"where": ["1 = 1; DROP TABLE orders"]}, 422, None),
        ({"sql": "select 1"}, 422, "request.invalid"),
    ],
)
def test_what_is_not_declared_is_refused(asking: Any, change: Any, status: int, code: str | None) -> None:
    """Whether a question is accepted depends on the configuration and the ledger; nothing is charged else."""
    body = {key: value for key, value in {**COUNT, **change}.items() if value is not None}
    done = asking.post("/api/v1/ask", json=body)
    assert done.status_code == status, done.text
    assert code in {None, done.json()["errors"][0]["code"]}
    assert asking.get("/api/v1/ask").json()["tables"][0]["budget"]["spent"] == "0"


def test_the_role_may_do_nothing_else(site: Site, asking: Any) -> None:
    """Every route but those of questions refuses the role, as token and as browser; the first page leads to them.

    A person changes their own account in any role, a program in none.
    """
    browser = site.signed_in(WebRole.ASK)
    for route in routes():
        if route.access in {Access.PUBLIC, Access.ASK}:
            continue
        path = re.sub(r"\{[^}]*\}", "1", route.path)
        for client in (asking,) if route.access is Access.OWN_ACCOUNT else (asking, browser):
            status = client.request(route.method, path).status_code
            assert status == (303 if path == "/" else 403), (route.method, path, status)
    assert browser.get("/").headers["location"] == "/ask"
    page = browser.get("/ask").text
    for link in ("/incidents", "/configuration", "/api", "/budgets", "/tables"):
        assert f'href="{link}"' not in page


@pytest.mark.usefixtures("asking")
def test_others_may_not_ask(site: Site) -> None:
    """Viewers, responders and owners ask nothing; stewards and administrators may."""
    for role in WebRole:
        limits = {"owners": ("desk",)} if role is WebRole.OWNER else {}
        allowed = role in {WebRole.ASK, WebRole.STEWARD, WebRole.ADMIN}
        assert site.signed_in(role, **limits).get("/ask").status_code == (200 if allowed else 403)


@pytest.mark.usefixtures("asking")
def test_an_owner_or_domain_limits_what_may_be_asked(site: Site) -> None:
    """A token for other owners' tables neither sees the table nor asks about it."""
    token = site.token(WebRole.ASK, "crew", owners=("crew",))
    client = site.client(authorization=f"Bearer {token}")
    assert client.get("/api/v1/ask").json()["tables"] == []
    unknown = client.post("/api/v1/ask", json={**COUNT, "table": "nothing"})
    assert client.post("/api/v1/ask", json=COUNT).json() == unknown.json()


@pytest.mark.usefixtures("asking")
def test_the_page_shows_cost_and_answer(site: Site) -> None:
    """People ask by a form, which shows the cost first."""
    browser = site.signed_in(WebRole.ASK)
    form = {"table": "orders", "statistic": "histogram", "by": "customer", "epsilon": "0.5", "where": ""}
    plan = browser.post("/ask/plan", data=form)
    assert plan.status_code == 200
    assert "It would cost 0.5 of the remaining 1000; nothing was charged." in plan.text
    answer = browser.post("/ask", data=form)
    assert answer.status_code == 200
    assert "It cost 0.5; 999.5 remain." in answer.text
    assert "With 95% confidence" in answer.text
    assert ">None<" not in answer.text
    count = browser.post("/ask", data={**form, "statistic": "count", "by": ""})
    assert count.status_code == 200
    assert "It cost 0.5; 999 remain." in count.text


def _shown(answer: Any) -> Any:
    """Return a reply without what is drawn: the noisy numbers, and the id that was made up for the request."""
    if isinstance(answer, dict):
        return {key: _shown(value) for key, value in answer.items() if key not in {"value", "count", "request_id"}}
    return [_shown(item) for item in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize(
    "question",
    [
        COUNT,
        {**COUNT, "statistic": "histogram", "by": ["customer"]},
        {**COUNT, "statistic": "sum", "column": "amount"},
        {**COUNT, "statistic": "quantile", "column": "amount", "share": "0.5"},
        {**COUNT, "where": ["customer = ann"]},
    ],
    ids=lambda question: f"{question['statistic']}-{len(question)}",
)
def test_neighbouring_tables_are_answered_alike(site: Site, asking: Any, question: Any) -> None:
    """Status, headers and size are equal, and so is all but the noise, whatever the one row that differs holds."""
    seen = []
    for customer, amount in (("ann", 5.0), ("bob", 1e300), ("someone else", None), (None, "no number"), ("", -7)):
        _sql(site, "UPDATE orders SET customer = ?, amount = ? WHERE id = 1", customer, amount)
        for path in ("/api/v1/ask", "/api/v1/ask/plan"):
            done = asking.post(path, json=question)
            headers = {name: value for name, value in done.headers.items() if name != "date"}
            budget = {**done.json(), "budget": None}
            seen.append((path, done.status_code, headers, len(done.content), _shown(budget)))
    first, plan = seen[:2]
    assert first[1] == 200, first
    assert all(item == first for item in seen[::2])
    assert all(item == plan for item in seen[1::2])
