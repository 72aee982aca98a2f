"""Ask a served decision model through its makers' own client; runs in the Python that has it.

    python decision_clients.py decisions|systemone URL KEY < request.json

Prints what the client read, or its error, as JSON.
"""

import json
import sys


def ask(api: str, url: str, key: str) -> object:
    """Send the request that stands on standard input; the answer has the client's own types."""
    request = json.load(sys.stdin)
    if api == "decisions":
        import openai

        try:
            read = openai.OpenAI(base_url=url, api_key=key).decisions.create(**request)
        except openai.APIStatusError as error:
            return {"error": type(error).__name__, "message": str(error)}
        return openai.types.Decision.model_validate(read.model_dump(), strict=True).model_dump()
    import typesafe_sdk

    client = typesafe_sdk.TypeSafeClient(api_key=key, base_url=url.removesuffix("/v1"))
    try:
        return client.system_one(**request).model_dump(mode="json")
    except typesafe_sdk.TypeSafeAPIError as error:
        return {"error": type(error).__name__, "message": str(error)}


if __name__ == "__main__":
    json.dump(ask(*sys.argv[1:]), sys.stdout)
