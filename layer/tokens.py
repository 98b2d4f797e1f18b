"""Forms of known tokens, as those who hand them out write them today, and whether a text has one. Pure.

Each is sure enough to refuse a definition for. What has no form of its own is for names to tell (`telling`).
"""

from __future__ import annotations

import re

_WEBHOOKS = (
    r"://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/\w+/[\w/-]{24,}"
)

FORMS: tuple[tuple[str, str], ...] = (
    # A mark, which every text of that form has, and the form. Looking for marks first takes a hundredth of the time.
    ("sk-", r"\bsk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic; without a digit it is a CSS class
    ("AKIA", r"\bAKIA[0-9A-Z]{16}\b"),  # AWS: access key ids, and Bedrock
    ("ASIA", r"\bASIA[0-9A-Z]{16}\b"),
    ("ABSK", r"\bABSK[A-Za-z0-9+/]{60,}"),
    ("ghp_", r"\bghp_[A-Za-z0-9]{20,}"),  # GitHub
    ("gho_", r"\bgho_[A-Za-z0-9]{20,}"),
    ("ghu_", r"\bghu_[A-Za-z0-9]{20,}"),
    ("ghs_", r"\bghs_(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{20,}"),
    ("ghr_", r"\bghr_[A-Za-z0-9]{20,}"),
    ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    ("gl", r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-[A-Za-z0-9_-]{16,}"),  # GitLab
    ("xox", r"\bxox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),  # Slack
    ("xapp-", r"\bxapp-[0-9]-[A-Za-z0-9]+-[0-9]+-[A-Za-z0-9]{16,}"),
    ("hooks.slack.com", _WEBHOOKS),
    ("/api/webhooks/", _WEBHOOKS),  # Discord
    ("AIza", r"\bAIza[0-9A-Za-z_-]{30,}"),  # Google
    ("ya29.", r"\bya29\.[0-9A-Za-z_-]{20,}"),
    ("GOCSPX-", r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    ("hf_", r"\bhf_[A-Za-z0-9]{26,}"),  # Hugging Face
    ("api_org_", r"\bapi_org_[A-Za-z0-9]{26,}"),
    ("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{30,}"),
    ("rubygems_", r"\brubygems_[0-9a-f]{40,}"),
    ("k_live_", r"\b[sr]k_live_[A-Za-z0-9]{16,}"),  # Stripe
    ("k_test_", r"\b[sr]k_test_[A-Za-z0-9]{20,}"),
    ("whsec_", r"\bwhsec_[A-Za-z0-9+/]{24,}"),
    ("SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid
    ("xkeysib-", r"\bxkeysib-[0-9a-f]{40,}"),  # Brevo
    ("key-", r"\bkey-[0-9a-f]{32}\b"),  # Mailgun
    ("-us", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),  # Mailchimp
    ("SK", r"\bSK[0-9a-f]{32}\b"),  # Twilio
    ("AC", r"\bAC[0-9a-f]{32}\b"),
    ("_v1_", r"\bdo[opr]_v1_[0-9a-f]{40,}|\btgp_v1_[\w-]{30,}|\bwandb_v1_\w{40,}"),  # DigitalOcean, Together, W&B
    ("shp", r"\bshp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}"),  # Shopify
    ("AccountKey=", r"\bAccountKey=[A-Za-z0-9+/]{40,}"),  # Azure
    ("SharedAccessKey=", r"\bSharedAccessKey=[A-Za-z0-9+/]{40,}"),
    ("sig=", r"[?&]sig=[A-Za-z0-9%+/]{40,}"),
    ("Q~", r"(?<![\w.~-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w.~-])"),
    ("eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."),  # JSON web tokens
    # A private key, and not its first line alone, which code that reads keys has.
    ("PRIVATE KEY", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?=[^-]{0,400}?[A-Za-z0-9+/]{24})"),
    ("AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("AGE-PLUGIN-", r"\bAGE-PLUGIN-[0-9A-Z-]+1[0-9A-Z]{40,}"),
    # user:password@host in a URL, unless it only says so.
    (
        "://",
        r"""\b[a-z][a-z0-9+]*://[^\s:/@'"{}<>]*:(?!(?:pass|passwd|password|pwd|secret|token|x+|\*+|\.+)@)[^\s/@'"{}<>]+@""",
    ),
    (":AA", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),  # Telegram
    ("sq0", r"\bsq0[a-z]{3}-[0-9A-Za-z_-]{20,}"),  # Square
    ("EAAA", r"\bEAAA[A-Za-z0-9_-]{50,}"),
    ("dapi", r"\bdapi[0-9a-f]{32}"),  # Databricks
    ("lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}"),  # Linear
    ("secret_", r"\bsecret_[A-Za-z0-9]{43}\b"),  # Notion
    ("ntn_", r"\bntn_[A-Za-z0-9]{40,}"),
    ("ATATT3", r"\bATATT3[A-Za-z0-9+/=_-]{40,}"),  # Atlassian
    ("ATCTT3", r"\bATCTT3[A-Za-z0-9+/=_-]{40,}"),
    ("ATBB", r"\bATBB[A-Za-z0-9]{24,}"),
    ("dckr_", r"\bdckr_[a-z]{3}_[A-Za-z0-9_-]{20,}"),  # Docker
    ("hvs.", r"\bhvs\.[A-Za-z0-9_-]{24,}"),  # Vault
    ("hvb.", r"\bhvb\.[A-Za-z0-9_-]{24,}"),
    (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),  # Terraform
    ("pul-", r"\bpul-[0-9a-f]{40}\b"),
    ("glsa_", r"\bglsa_[A-Za-z0-9]{20,}"),  # Grafana
    ("glc_", r"\bglc_[A-Za-z0-9+/]{32,}"),
    ("sntry", r"\bsntry(?:s|u)_[A-Za-z0-9+/=_]{40,}"),  # Sentry
    ("NRAK-", r"\bNRAK-[A-Z0-9]{20,}"),  # New Relic
    ("dt0c01.", r"\bdt0c01\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),  # Dynatrace
    ("PMAK-", r"\bPMAK-[0-9a-f]{20,}-[0-9a-f]{30,}"),  # Postman
    ("HRKU-", r"\bHRKU-[A-Za-z0-9_-]{36,}"),  # Heroku
    ("pscale_", r"\bpscale_(?:tkn|pw|oauth)_[\w=.-]{30,}"),  # PlanetScale
    ("sbp_", r"\bsbp_[0-9a-f]{40}\b"),  # Supabase
    ("tskey-", r"\btskey-[a-z]+-[A-Za-z0-9-]{16,}"),  # Tailscale
    ("fm2_", r"\bfm2_[A-Za-z0-9+/]{60,}"),  # Fly
    ("dp.pt.", r"\bdp\.pt\.[A-Za-z0-9]{40,}"),  # Doppler
    ("ops_eyJ", r"\bops_eyJ[A-Za-z0-9+/=]{60,}"),  # 1Password
    ("AKCp", r"\bAKCp[A-Za-z0-9]{60,}"),  # Artifactory
    ("LTAI", r"\bLTAI[A-Za-z0-9]{17,}\b"),  # Alibaba
    ("figd_", r"\bfigd_[A-Za-z0-9_-]{30,}"),  # Figma
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{40,}|\bpat-[a-z]{2}[0-9]-[0-9a-f-]{36}"),  # Airtable, HubSpot
    ("gsk_", r"\bgsk_[A-Za-z0-9]{40,}"),  # Groq
    ("xai-", r"\bxai-[A-Za-z0-9]{60,}"),
    ("pplx-", r"\bpplx-[A-Za-z0-9]{40,}"),  # Perplexity
    ("r8_", r"\br8_[A-Za-z0-9]{37}\b"),  # Replicate
    ("nvapi-", r"\bnvapi-[A-Za-z0-9_-]{40,}"),  # NVIDIA
    ("pcsk_", r"\bpcsk_[A-Za-z0-9_]{40,}"),  # Pinecone
    ("lsv2_", r"\blsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10}\b"),  # LangSmith
    ("KGAT_", r"\bKGAT_[0-9a-f]{32}\b"),  # Kaggle
    ("tvly-", r"\btvly-(?=[a-z-]*[A-Z0-9])[A-Za-z0-9-]{24,}"),  # Tavily
    ("esecret_", r"\besecret_[A-Za-z0-9]{20,}"),  # Anyscale
    ("sk_", r"\bsk_[0-9a-f]{48}\b"),  # ElevenLabs
)


# Discord's has no mark.
_UNMARKED = re.compile(r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}")


def token_in(text: str) -> str | None:
    """Something in `text` of the form of a known kind of token, as it stands there; None if there is nothing."""
    for mark, form in FORMS:
        if mark in text and (found := re.search(form, text)):
            return found[0]
    return found[0] if (found := _UNMARKED.search(text)) else None


_CLEAR_MARKS = tuple(mark for mark, _ in FORMS if len(mark) > 3 and mark not in ("://", "key-", "sig=", "secret_"))


def may_have_token(text: str) -> bool:
    """Whether marks that little else has tell that a token may be in `text`, if in parts."""
    return any(mark in text for mark in _CLEAR_MARKS)
