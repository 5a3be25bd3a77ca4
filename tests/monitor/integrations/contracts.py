"""A contract of a small shop, with what is taken and what is not, and its data, good or broken."""

from pathlib import Path

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop-orders
name: Shop orders
version: 1.0.0
status: active
domain: Sales
tags: [shop]
team:
  name: Order team
servers:
  - {server: files, type: local, path: orders.csv, format: csv, delimiter: ","}
  - {server: cloud, type: snowflake, account: acme}
schema:
  - name: orders
    physicalType: table
    description: One row for each order
    properties:
      - {name: order_id, logicalType: integer, primaryKey: true, primaryKeyPosition: 1, required: true}
      - name: status
        logicalType: string
        required: true
        quality:
          - id: known_status
            metric: invalidValues
            mustBe: 0
            arguments: {validValues: [open, paid]}
            severity: warning
      - name: customer
        logicalType: string
        logicalTypeOptions: {minLength: 2, maxLength: 20, format: password}
        quality:
          - {metric: nullValues, mustBeLessOrEqualTo: 40, unit: percent}
          - {metric: missingValues, mustBeLessThan: 3, arguments: {missingValues: [null, "", "N/A"]}}
      - name: amount
        logicalType: number
        logicalTypeOptions: {minimum: 0, exclusiveMaximum: 10000}
        quality:
          - name: Mean amount
            type: sql
            query: SELECT avg(${property}) FROM ${object}
            mustBeBetween: [5, 500]
            description: Orders are neither free nor huge.
          - {type: sql, query: "DELETE FROM ${object}", mustBe: 0}
          - {type: text, description: plausible}
      - {name: placed_at, logicalType: timestamp}
    quality:
      - {metric: rowCount, mustBeGreaterThan: 2}
      - {metric: rowCount, mustNotBe: 7}
      - {type: custom, engine: soda, implementation: checks}
slaProperties:
  - {property: freshness, value: 2, unit: d, element: orders.placed_at}
  - {property: timeOfAvailability, value: "09:00-08:00", element: orders.placed_at}
  - {property: retention, value: 3, unit: y, element: orders.placed_at}
  - {property: timeToDetect, value: 36, unit: h}
  - {property: timeToRepair, value: PT8H, element: orders}
  - {property: availability, value: 99.5, unit: percent}
  - {property: timeOfAvailability, value: "09:00", element: orders.placed_at}
  - {property: endOfSupport, value: "2030-01-01"}
"""

GOOD = """\
order_id,status,customer,amount,placed_at
1,open,ann,10.5,2026-11-20 08:00:00
2,paid,bob,20.5,2026-11-20 07:00:00
3,open,cyd,11.5,2026-11-19 12:00:00
"""


def write_contract(folder: Path, text: str = CONTRACT, data: str = GOOD) -> Path:
    """Write a contract beside its data, and return its path."""
    (folder / "orders.csv").write_text(data, encoding="utf-8")
    path = folder / "orders.odcs.yaml"
    path.write_text(text, encoding="utf-8")
    return path
