"""問い合わせ返信の自動評価(家電メーカー サポート窓口)"""
import re

from openai import OpenAI

client = OpenAI()

EVAL_PROMPT = """あなたは家電メーカーのサポート窓口の品質管理担当です。
お客様からの問い合わせと、AIが作成した返信文を読み、返信文を評価してください。

【問い合わせ】
{inquiry}

【製品マニュアル抜粋】
{manual}

【返信文】
{reply}

評価基準：
A：そのまま送信できる。内容が正確で、敬語も適切。
B：内容は正確だが、表現に軽微な修正が必要。
C：説明不足、または一部に誤りがあり、書き直しが必要。
D：誤った案内、安全上の問題、または失礼な表現がある。

まず評価の理由を3行以内で書き、最後の行に次の形式で評価を書いてください。
評価：B
"""


def evaluate(inquiry: str, manual: str, reply: str) -> str | None:
    res = client.chat.completions.create(
        model="gpt-4o",
        temperature=0,
        messages=[
            {
                "role": "user",
                "content": EVAL_PROMPT.format(inquiry=inquiry, manual=manual, reply=reply),
            }
        ],
    )
    m = re.search(r"評価[:：]\s*([A-D])", res.choices[0].message.content)
    return m.group(1) if m else None
