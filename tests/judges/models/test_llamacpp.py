"""The client against a real llama.cpp server, with a tiny model of random weights made on the spot.

What it says is noise; that it is asked, limited, seeded and measured as it should be is not.
"""

import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from judgewright.judges.models import Client, Completion, Endpoint, Message, Request

MISSING = [
    name for name in ("gguf", "tokenizers", "xllamacpp") if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

SPECIAL = ("<|start|>", "<|stop|>", "<|system|>", "<|user|>", "<|assistant|>")
CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|stop|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 32, 1, 2, 64, 1024
SEEN = [
    "Grade the statement from 0 to 3 and answer in JSON.",
    '{"score": 2, "supported": true}',
    "the source says so",
]

SERVE = """
import sys, threading
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.warmup = 4096, 4, False
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
threading.Event().wait()
"""


def make_model(path: Path) -> None:
    """Write a llama of a few ten thousand random weights, with a tokenizer trained on three
    lines.
    """
    import gguf
    import numpy as np
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(SEEN * 10, trainer)
    tokens = sorted(bpe.get_vocab(), key=bpe.get_vocab().__getitem__)
    merges = [
        pair if isinstance(pair, str) else " ".join(pair)
        for pair in json.loads(bpe.to_str())["model"]["merges"]
    ]

    out = gguf.GGUFWriter(path, "llama")
    out.add_name("tiny-random")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    out.add_token_types([control if token in SPECIAL else normal for token in tokens])
    out.add_token_merges(merges)
    out.add_bos_token_id(tokens.index(SPECIAL[0]))
    out.add_eos_token_id(tokens.index(SPECIAL[1]))
    out.add_add_bos_token(False)
    out.add_chat_template(CHAT)

    rng = np.random.default_rng(7)
    matrices = {"token_embd": (len(tokens), WIDTH), "output": (len(tokens), WIDTH)}
    for i in range(LAYERS):
        matrices |= {f"blk.{i}.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        matrices |= {f"blk.{i}.ffn_{name}": (INNER, WIDTH) for name in ("gate", "up")}
        matrices |= {f"blk.{i}.ffn_down": (WIDTH, INNER)}
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{i}.{name}.weight", np.ones(WIDTH, np.float32))
    for name, shape in matrices.items():
        out.add_tensor(f"{name}.weight", rng.normal(0, 0.1, shape).astype(np.float32))
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A llama.cpp server in a process of its own, for all tests of this file."""
    folder = tmp_path_factory.mktemp("llamacpp")
    make_model(folder / "tiny.gguf")
    with open(folder / "log", "wb") as log:
        command = [sys.executable, "-c", SERVE, str(folder / "tiny.gguf")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("listening ")), None)
        assert line is not None, (folder / "log").read_text(errors="replace")[-2000:]
        address = line.split()[1]
        yield (address if address.startswith("http") else f"http://{address}") + "/v1"
    finally:
        process.kill()
        process.communicate()


def ask(base_url: str, *requests: Request) -> list[Completion]:
    """Ask through the client and expect answers."""
    endpoint = Endpoint(name="tiny", base_url=base_url, api_key=None)
    with Client(endpoint, concurrency=4) as client:
        outcomes = client.ask(requests)
    assert all(isinstance(outcome, Completion) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Completion)]


def about(text: str, **more: Any) -> Request:  # Any: the fields of Request differ in type
    """Return a request of a judge's kind."""
    messages = (Message("system", "Grade the statement from 0 to 3."), Message("user", text))
    return Request(messages=messages, **{"max_tokens": 12, **more})


def schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Ask for an object with exactly these properties."""
    body = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": body},
    }


def test_a_reply_in_a_schema_parses(base_url: str) -> None:
    """Even noise comes back as the object that was asked for, for every one of twelve rows."""
    wanted = schema(
        {"score": {"type": "integer", "enum": [0, 1, 2, 3]}, "supported": {"type": "boolean"}}
    )
    rows = [
        about(f"row {i}", response_format=wanted, max_tokens=40, temperature=1.0, repeat=i)
        for i in range(12)
    ]
    for completion in ask(base_url, *rows):
        verdict = json.loads(completion.text)
        assert set(verdict) == {"score", "supported"}
        assert verdict["score"] in {0, 1, 2, 3}
        assert isinstance(verdict["supported"], bool)
        assert completion.finish_reason == "stop"
        assert completion.tokens_in > 10
        assert completion.dropped == ()


def test_log_probabilities_come_back(base_url: str) -> None:
    """Each token has its own, the alternatives are in order and no likelier than certainty."""
    (completion,) = ask(base_url, about("how likely?", top_logprobs=5))
    # A token that is the beginning of a character is held back by the server until the character is
    # whole. It talks on, so that it was asked again with twice the room.
    assert 24 - 3 <= len(completion.logprobs) <= 24
    assert completion.tokens_out == 12 + 24
    for token in completion.logprobs:
        assert token.logprob <= 0.0
        alternatives = [logprob for _, logprob in token.top]
        assert len(alternatives) == 5
        assert alternatives == sorted(alternatives, reverse=True)
        assert sum(math.exp(logprob) for logprob in alternatives) <= 1.0 + 1e-6
        # At temperature 0 the token taken is the likeliest.
        assert token.logprob == pytest.approx(alternatives[0], abs=1e-6)
