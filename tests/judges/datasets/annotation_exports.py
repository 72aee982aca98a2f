"""Small exports of annotation tools, in the shape in which each tool writes them."""

import json
from pathlib import Path
from typing import Any

MAPPINGS = {
    "label_studio": {
        "query": "question",
        "passage": "context.text",
        "label": "supported",
        "reason": "why",
    },
    "argilla": {"query": "question", "passage": "passage", "label": "relevant"},
    "langfuse": {"query": "input.question", "passage": "output", "label": "relevance"},
    "mlflow": {"query": "inputs.question", "passage": "outputs", "label": "relevance"},
}
"""By tool: which of its columns and questions is what."""
TEXTS = (("Who built it?", "The guild built it."), ("When was it?", "It rained."))


def write_annotations(folder: Path) -> dict[str, Path]:
    """Write an export of each tool, two items with the labels 1 and 0; by the tool."""
    bodies: dict[str, object] = {
        "label_studio": label_studio(),
        "argilla": argilla(),
        "langfuse": langfuse(),
    }
    bodies |= {"mlflow": mlflow(), "promptfoo": promptfoo()}
    paths: dict[str, Path] = {}
    for name, body in bodies.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(body))
    return paths


def promptfoo() -> dict[str, Any]:
    """What `promptfoo eval -o results.json` writes, with a person's pass or fail of each result."""
    results: list[dict[str, Any]] = []
    for number, (question, passage) in enumerate(TEXTS):
        grading = [{"pass": True, "score": 1, "assertion": {"type": "llm-rubric"}}]
        grading.append({"pass": not number, "score": 1 - number, "assertion": {"type": "human"}})
        body = {
            "id": f"r{number}",
            "testIdx": number,
            "vars": {"query": question, "passage": passage},
        }
        results.append(
            {**body, "response": {"output": "-"}, "gradingResult": {"componentResults": grading}}
        )
    return {"evalId": "e", "results": {"version": 3, "results": results}}


def label_studio() -> list[dict[str, Any]]:
    """Tasks as `export?exportType=JSON` gives them; the first was cancelled once, and says why it
    is so.
    """
    tasks: list[dict[str, Any]] = []
    for number, ((question, passage), choice) in enumerate(
        zip(TEXTS, ("Yes", "No"), strict=True), 1
    ):
        result = [
            {
                "id": f"r{number}",
                "from_name": "supported",
                "to_name": "passage",
                "type": "choices",
                "value": {"choices": [choice]},
            },
            {
                "id": f"w{number}",
                "from_name": "why",
                "to_name": "passage",
                "type": "textarea",
                "value": {"text": ["x"]},
            },
        ]
        annotation = {
            "id": 1000 + number,
            "completed_by": {"id": 10, "email": "ann@example.org"},
            "result": result,
            "was_cancelled": False,
            "ground_truth": False,
            "created_at": "2026-03-09T22:16:08.728353Z",
            "updated_at": "2026-03-09T22:16:08.728378Z",
            "lead_time": 4.288,
            "task": number,
        }
        cancelled = {**annotation, "id": 2000 + number, "was_cancelled": True, "result": []}
        data = {"question": question, "context": {"text": passage, "page": number}}
        tasks.append(
            {"id": number, "data": data, "annotations": [cancelled, annotation], "predictions": []}
        )
    return tasks


def argilla() -> list[dict[str, Any]]:
    """Records as `dataset.records.to_json` writes them; two people answered, and a model
    suggested.
    """
    records: list[dict[str, Any]] = []
    for number, ((question, passage), value) in enumerate(
        zip(TEXTS, ("yes", "no"), strict=True), 1
    ):
        people = [{"value": value, "user_id": user, "status": "submitted"} for user in ("u1", "u2")]
        draft = {"value": "yes", "user_id": "u3", "status": "draft"}
        records.append(
            {
                "id": f"record-{number}",
                "status": "completed",
                "_server_id": f"server-{number}",
                "fields": {"question": question, "passage": passage},
                "metadata": {"source": "web"},
                "suggestions": {"relevant": {"value": "yes", "score": 0.9, "agent": "model"}},
                "responses": {"relevant": [*people, draft]},
                "vectors": {},
            }
        )
    return records


def langfuse() -> dict[str, Any]:
    """Traces with their scores as the API gives them; a model scored, too."""
    traces: list[dict[str, Any]] = []
    for number, ((question, passage), value) in enumerate(zip(TEXTS, (1, 0), strict=True), 1):
        score = {
            "id": f"score-{number}",
            "traceId": f"trace-{number}",
            "name": "relevance",
            "source": "ANNOTATION",
            "dataType": "BOOLEAN",
            "value": value,
            "stringValue": "True" if value else "False",
            "comment": "as the passage says",
            "authorUserId": "user-7",
            "queueId": "queue-1",
            "timestamp": "2026-05-01T10:00:00.000Z",
        }
        judged = {
            **score,
            "id": f"judge-{number}",
            "source": "EVAL",
            "value": 1,
            "stringValue": "True",
        }
        trace = {"id": f"trace-{number}", "input": {"question": question}, "output": passage}
        traces.append({**trace, "metadata": {"channel": "web"}, "scores": [judged, score]})
    return {"data": traces, "meta": {"page": 1, "totalItems": 2}}


def mlflow() -> list[dict[str, Any]]:
    """Traces as `trace.to_json()` gives them; a judge assessed, and the first assessment was
    replaced.
    """
    traces: list[dict[str, Any]] = []
    for number, ((question, passage), value) in enumerate(
        zip(TEXTS, (True, False), strict=True), 1
    ):
        human = {
            "assessment_id": f"a-{number}",
            "assessment_name": "relevance",
            "trace_id": f"tr-{number}",
            "source": {"source_type": "HUMAN", "source_id": "ann@example.org"},
            "create_time": "2026-06-01T10:00:00.000Z",
            "feedback": {"value": value},
            "rationale": "as the passage says",
            "valid": True,
        }
        replaced = {
            **human,
            "assessment_id": f"old-{number}",
            "feedback": {"value": not value},
            "valid": False,
        }
        judge = {
            **human,
            "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"},
            "feedback": {"value": True},
        }
        attributes = {
            "mlflow.spanInputs": json.dumps({"question": question}),
            "mlflow.spanOutputs": json.dumps(passage),
        }
        spans = [
            {"name": "inner", "span_id": "2", "parent_span_id": "1", "attributes": {}},
            {"name": "root", "span_id": "1", "parent_span_id": None, "attributes": attributes},
        ]
        info = {"trace_id": f"tr-{number}", "state": "OK", "assessments": [judge, replaced, human]}
        traces.append({"info": info, "data": {"spans": spans}})
    return traces
