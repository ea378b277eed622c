"""What secrets look like: the shapes that providers gave their keys so that scanners find them.

Each is written after its provider's own description of it, for a linear-time engine (RE2), and
without groups of its own. The name is what stands in the text instead.
"""

from __future__ import annotations

PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)"
)

KEY_SHAPES: tuple[tuple[str, str], ...] = (
    ("private-key", PRIVATE_KEY),
    ("private-key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    # model providers
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{8,}"),
    ("openrouter-key", r"\bsk-or-[A-Za-z0-9_-]{8,}"),
    ("langfuse-key", r"\b[ps]k-lf-[0-9a-f-]{16,}"),
    ("api-key", r"\bsk-[A-Za-z0-9_-]{16,}"),  # OpenAI's, and what imitates it
    ("api-key", r"\bsk_[0-9a-f]{40,}"),
    ("groq-key", r"\bgsk_[A-Za-z0-9]{20,}"),
    ("xai-key", r"\bxai-[A-Za-z0-9]{20,}"),
    ("perplexity-key", r"\bpplx-[A-Za-z0-9]{20,}"),
    ("cerebras-key", r"\bcsk-[a-z0-9]{20,}"),
    ("fireworks-key", r"\bfw_[A-Za-z0-9]{22,}"),
    ("replicate-token", r"\br8_[A-Za-z0-9]{20,}"),
    ("together-key", r"\btgp_v1_[A-Za-z0-9_-]{20,}"),
    ("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{20,}"),
    ("hugging-face-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{30,}"),
    ("google-token", r"\bya29\.[A-Za-z0-9_.-]{20,}"),
    ("google-secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    # tools that agents use
    ("langsmith-key", r"\blsv2_[a-z]{2}_[a-z0-9_]{20,}"),
    ("tavily-key", r"\btvly-[A-Za-z0-9_-]{16,}"),
    ("pinecone-key", r"\bpcsk_[A-Za-z0-9_]{20,}"),
    ("notion-token", r"\bntn_[A-Za-z0-9]{30,}"),
    ("notion-token", r"\bsecret_[A-Za-z0-9]{40,}"),
    ("linear-key", r"\blin_api_[A-Za-z0-9]{20,}"),
    ("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{40,}"),
    ("figma-token", r"\bfig[dour]_[A-Za-z0-9_-]{20,}"),
    ("postman-key", r"\bPMAK-[a-f0-9]{20,}-[a-f0-9]{20,}"),
    ("atlassian-token", r"\bATATT3[A-Za-z0-9_=-]{40,}"),
    # clouds and code
    ("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("github-token", r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    ("github-token", r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab-token", r"\bgl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[\w.-]{16,}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("docker-token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("digitalocean-token", r"\bdo[oprt]_v1_[a-f0-9]{32,}"),
    ("databricks-token", r"\bdapi[a-f0-9]{32}"),
    ("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{30,}"),
    ("supabase-key", r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("planetscale-token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{20,}"),
    ("grafana-token", r"\bgl(?:c|sa)_[A-Za-z0-9_+/=-]{20,}"),
    ("sentry-token", r"\bsntry[su]_[A-Za-z0-9_+/=-]{20,}"),
    ("newrelic-key", r"\bNRAK-[A-Z0-9]{20,}"),
    # messages and money
    ("slack-token", r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    ("slack-token", r"\bxapp-\d-[A-Za-z0-9-]{10,}"),
    ("webhook", r"\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w/+-]{8,}"),
    ("webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d+/[\w-]{8,}"),
    ("webhook", r"\b[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]{8,}"),
    ("telegram-token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("twilio-key", r"\bSK[0-9a-f]{32}\b"),
    ("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("stripe-key", r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    ("stripe-secret", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    ("shopify-token", r"\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    ("square-token", r"\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    # a header and a body in base64 both begin with `{"`
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){1,3}"),
)

PASSWORD_NAMES = r"pass(?:word|wd|phrase|code)|pwd"
"""Ends of names whose value is a secret however short it is."""

SECRET_NAMES = (
    r"secret|token|credentials?|jwt|connection[_-]?string"
    r"|(?:api|access|secret|private|signing|encryption|account|auth|session|shared|master)[_-]?key"
)
"""Ends of names whose value is a secret where it looks like one."""

PLACEHOLDERS = frozenset(
    {
        "", "null", "none", "nil", "true", "false", "undefined", "string", "required", "missing",
        "invalid", "expired", "empty", "unset", "redacted", "hidden", "masked", "optional",
    }
)  # fmt: skip
"""What stands where a secret would, and is none."""

REFERENCES = ("/", "./", "../", "~/", "$", "{{", "<", "%(", "os.environ", "env:")
"""Beginnings of what says where a secret is."""

FILE_ENDINGS = frozenset(
    {"png", "jpg", "jpeg", "gif", "svg", "webp", "css", "html", "js", "json", "md", "py", "ts"}
)
"""What looks like the end of an e-mail address and is that of a file: `logo@2x.png`."""
