"""Secrets that nobody has, one of each known form, put together here so that no scanner takes this tree for a leak."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
HEX = DIGITS + "abcdef"
WORD = LOWER + UPPER + DIGITS
URL = WORD + "-_"

_chance = random.Random("perdure")


def made_of(letters: str, length: int, *, chance: random.Random = _chance) -> str:
    """`length` letters by chance, a digit among them where there are any."""
    made = "".join(chance.choices(letters, k=length - 1))
    return made + (chance.choice(DIGITS) if DIGITS[0] in letters else chance.choice(letters))


def _key(kind: str) -> str:
    lines = "\n".join(made_of(WORD, 64) for _ in range(4))
    return f"-----BEGIN {kind}KEY-----\n{lines}\n-----END {kind}KEY-----"


MADE_UP: Mapping[str, str] = {
    "OpenAI": "sk-" + made_of(WORD, 48),
    "OpenAI, of a project": "sk-" + "proj-" + made_of(URL, 74),
    "Anthropic": "sk-" + "ant-api03-" + made_of(URL, 93) + "AA",
    "AWS": "AK" + "IA" + made_of(UPPER + "234567", 16),
    "AWS, for a session": "AS" + "IA" + made_of(UPPER + "234567", 16),
    "AWS Bedrock": "AB" + "SK" + made_of(WORD + "+/", 120),
    "GitHub": "gh" + "p_" + made_of(WORD, 36),
    "GitHub OAuth": "gh" + "o_" + made_of(WORD, 36),
    "GitHub, of a user": "gh" + "u_" + made_of(WORD, 36),
    "GitHub, of an app": "gh" + "s_" + made_of(WORD, 36),
    "GitHub, to refresh": "gh" + "r_" + made_of(WORD, 76),
    "GitHub, fine-grained": "github" + "_pat_" + made_of(WORD, 22) + "_" + made_of(WORD, 59),
    "GitLab": "gl" + "pat-" + made_of(URL, 20),
    "GitLab runner": "gl" + "rt-" + made_of(URL, 20),
    "GitLab to deploy": "gl" + "dt-" + made_of(URL, 20),
    "Slack bot": "xo" + "xb-" + made_of(DIGITS, 12) + "-" + made_of(DIGITS, 12) + "-" + made_of(WORD, 24),
    "Slack user": "xo" + "xp-" + made_of(DIGITS, 12) + "-" + made_of(DIGITS, 12) + "-" + made_of(HEX, 32),
    "Slack app": "xa" + "pp-1-A" + made_of(UPPER, 10) + "-" + made_of(DIGITS, 13) + "-" + made_of(HEX, 64),
    "Slack webhook": "https://hooks." + "slack.com/services/T" + made_of(UPPER, 10) + "/B" + made_of(WORD, 34),
    "Discord bot": "M" + made_of(WORD, 25) + "." + made_of(WORD, 6) + "." + made_of(URL, 38),
    "Discord webhook": "https://discord" + ".com/api/webhooks/" + made_of(DIGITS, 18) + "/" + made_of(URL, 68),
    "Telegram": made_of(DIGITS, 10) + ":" + "AA" + made_of(URL, 33),
    "Google": "AI" + "za" + made_of(URL, 35),
    "Google OAuth": "ya" + "29." + made_of(URL, 60),
    "Google client": "GOC" + "SPX-" + made_of(URL, 28),
    "Hugging Face": "hf" + "_" + made_of(LOWER + UPPER, 34),
    "npm": "np" + "m_" + made_of(WORD, 36),
    "PyPI": "py" + "pi-AgE" + "IcHlwaS5vcmc" + made_of(URL, 120),
    "RubyGems": "ruby" + "gems_" + made_of(HEX, 48),
    "Stripe": "sk" + "_live_" + made_of(WORD, 24),
    "Stripe, restricted": "rk" + "_live_" + made_of(WORD, 24),
    "Stripe webhook": "wh" + "sec_" + made_of(WORD, 32),
    "SendGrid": "S" + "G." + made_of(URL, 22) + "." + made_of(URL, 43),
    "Brevo": "xkey" + "sib-" + made_of(HEX, 64) + "-" + made_of(WORD, 16),
    "Mailgun": "ke" + "y-" + made_of(HEX, 32),
    "Mailchimp": made_of(HEX, 32) + "-" + "us12",
    "Twilio": "S" + "K" + made_of(HEX, 32),
    "Twilio account": "A" + "C" + made_of(HEX, 32),
    "DigitalOcean": "do" + "p_v1_" + made_of(HEX, 64),
    "Shopify": "shp" + "at_" + made_of(HEX, 32),
    "Azure storage": "DefaultEndpointsProtocol=https;Account" + "Key=" + made_of(WORD + "+/", 86) + "==",
    "Azure bus": "SharedAccess" + "Key=" + made_of(WORD + "+/", 43) + "=",
    "Azure signature": "https://a.blob.core.windows.net/b?sv=2024&si" + "g=" + made_of(WORD, 43) + "%3D",
    "Azure client": made_of(WORD, 3) + "8" + "Q~" + made_of(WORD, 34),
    "JSON web token": "ey" + "J" + made_of(URL, 33) + ".ey" + "J" + made_of(URL, 60) + "." + made_of(URL, 43),
    "RSA key": _key("RSA PRIVATE "),
    "PKCS 8 key": _key("PRIVATE "),
    "OpenSSH key": _key("OPENSSH PRIVATE "),
    "age": "AGE-SECRET" + "-KEY-1" + made_of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "database": "postgres://bob:" + made_of(WORD, 12) + "@db.example.com/x",
    "database without a user": "redis://:" + made_of(WORD, 12) + "@db.example.com/0",
    "Square": "sq0" + "atp-" + made_of(URL, 22),
    "Databricks": "da" + "pi" + made_of(HEX, 32),
    "Linear": "lin" + "_api_" + made_of(WORD, 40),
    "Notion": "nt" + "n_" + made_of(DIGITS, 11) + made_of(WORD, 35),
    "Notion, as it was": "secret" + "_" + made_of(WORD, 43),
    "Atlassian": "ATA" + "TT3" + made_of(URL, 180),
    "Docker": "dck" + "r_pat_" + made_of(URL, 27),
    "Vault": "hv" + "s." + made_of(URL, 95),
    "Terraform": made_of(WORD, 14) + ".atlas" + "v1." + made_of(URL, 64),
    "Pulumi": "pu" + "l-" + made_of(HEX, 40),
    "Grafana": "gl" + "sa_" + made_of(WORD, 32) + "_" + made_of(HEX, 8),
    "Sentry": "sntry" + "u_" + made_of(HEX, 64),
    "New Relic": "NR" + "AK-" + made_of(UPPER + DIGITS, 27),
    "Postman": "PM" + "AK-" + made_of(HEX, 24) + "-" + made_of(HEX, 34),
    "Heroku": "HR" + "KU-AA" + made_of(URL, 58),
    "PlanetScale": "pscale" + "_tkn_" + made_of(WORD, 43),
    "Supabase": "sb" + "p_" + made_of(HEX, 40),
    "Tailscale": "ts" + "key-auth-" + made_of(WORD, 17) + "-" + made_of(WORD, 32),
    "Figma": "fi" + "gd_" + made_of(URL, 40),
    "Airtable": "pa" + "t" + made_of(WORD, 14) + "." + made_of(HEX, 64),
    "Groq": "gs" + "k_" + made_of(WORD, 52),
    "xAI": "xa" + "i-" + made_of(WORD, 80),
    "Perplexity": "pp" + "lx-" + made_of(WORD, 48),
    "Replicate": "r" + "8_" + made_of(WORD, 37),
    "NVIDIA": "nv" + "api-" + made_of(URL, 64),
    "Pinecone": "pc" + "sk_" + made_of(WORD, 60),
    "LangSmith": "ls" + "v2_pt_" + made_of(HEX, 32) + "_" + made_of(HEX, 10),
    "Weights & Biases": "wan" + "db_v1_" + made_of(WORD, 60),
    "Kaggle": "KG" + "AT_" + made_of(HEX, 32),
}
