"""One run of spans in the SDK's layout, written in every encoding of OpenTelemetry that is read."""

from __future__ import annotations

import base64
import json
from typing import Any

from lastsignal.core.aliases.otel import otlp, sdk, span_export
from lastsignal.core.aliases.otel.spans import span_time

Encoded = list[bytes]


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value}


def key_values(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def nanoseconds(text: str) -> str:
    moment = span_time(text)
    assert moment is not None
    return f"{round(moment * 1e6)}000"


def hex_id(text: str | None) -> str:
    return (text or "").removeprefix("0x")


def base64_id(text: str | None) -> str:
    return base64.b64encode(bytes.fromhex(hex_id(text))).decode()


def otlp_span(one: dict[str, Any], encode_id: Any, code: Any) -> dict[str, Any]:
    status = one["status"]
    found = {
        "traceId": encode_id(one["context"]["trace_id"]),
        "spanId": encode_id(one["context"]["span_id"]),
        "parentSpanId": encode_id(one["parent_id"]),
        "name": one["name"],
        "kind": 1,
        "startTimeUnixNano": nanoseconds(one["start_time"]),
        "endTimeUnixNano": nanoseconds(one["end_time"]),
        "attributes": key_values(one["attributes"]),
        "events": [
            {
                "timeUnixNano": nanoseconds(event["timestamp"]),
                "name": event["name"],
                "attributes": key_values(event["attributes"]),
            }
            for event in one["events"]
        ],
        "status": {},
    }
    if status["status_code"] == "ERROR":
        found["status"] = {"code": code, "message": status.get("description", "")}
    return found


def request(spans: list[dict[str, Any]]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [snake_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): snake_case(
            inner
        )
        for key, inner in value.items()
    }


def sdk_compact(run: list[dict[str, Any]]) -> Encoded:
    return [json.dumps(one).encode() for one in run]


def sdk_pretty(run: list[dict[str, Any]]) -> Encoded:
    return [json.dumps(one, indent=4).encode() for one in run]


def otlp_hex(run: list[dict[str, Any]]) -> Encoded:
    return [request([otlp_span(one, hex_id, 2)]) for one in run]


def otlp_base64(run: list[dict[str, Any]]) -> Encoded:
    return [request([otlp_span(one, base64_id, "STATUS_CODE_ERROR")]) for one in run]


def otlp_document(run: list[dict[str, Any]]) -> Encoded:
    return [request([otlp_span(one, hex_id, 2) for one in reversed(run)])]


def otlp_snake(run: list[dict[str, Any]]) -> Encoded:
    return [json.dumps(snake_case(json.loads(record))).encode() for record in otlp_hex(run)]


def tempo(run: list[dict[str, Any]]) -> Encoded:
    spans = [otlp_span(one, base64_id, "STATUS_CODE_ERROR") for one in run]
    for one in spans:
        one["startTimeUnixNano"] = int(one["startTimeUnixNano"])
    batch = {"resource": {}, "instrumentationLibrarySpans": [{"spans": spans}]}
    return [json.dumps({"batches": [batch]}).encode()]


def gathered(run: list[dict[str, Any]]) -> Encoded:
    spans = [
        {**one, "start_time": int(nanoseconds(one["start_time"]))} | {"duration_ms": 1.0}
        for one in run
    ]
    return [json.dumps({"traces": [{"trace_id": "t", "spans": spans}]}, indent=2).encode()]


ENCODINGS = {
    "sdk pretty": (sdk.DIALECT, sdk_pretty),
    "otlp hex": (otlp.DIALECT, otlp_hex),
    "otlp base64": (otlp.DIALECT, otlp_base64),
    "otlp document, parents first": (otlp.DIALECT, otlp_document),
    "otlp snake case": (otlp.DIALECT, otlp_snake),
    "tempo": (otlp.DIALECT, tempo),
    "gathered": (span_export.DIALECT, gathered),
}
