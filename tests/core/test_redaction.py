"""What leaves the machine holds no secret, and what is none stays as it is.

Every secret here is made up, and put together when the test runs, so that no scanner finds one.
"""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import cycle, islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lastsignal.core.redaction import LEFT_OUT, MAX_CHARACTERS, redact, redact_values

ALNUM = "Zx7Qm2Kp9Rt4Lw1Bv8Ny3Hc6Jd5Fg0S"
HEX = "9f3c1a7e5b2d8604"
UPPER = "QX7ZM2KP9RT4LW1B"


def made(prefix: str, length: int, alphabet: str = ALNUM) -> str:
    """Return something that has a secret's shape."""
    return prefix + "".join(islice(cycle(alphabet), length))


def encoded(value: object) -> str:
    """Return a part of a JWT."""
    return b64encode(json.dumps(value).encode()).decode().rstrip("=").replace("+", "-")


JWT = ".".join([encoded({"alg": "HS256"}), encoded({"sub": "somebody"}), made("", 43)])
PEM = "\n".join(
    [
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        *[made("", 64)] * 3,
        "-----END " + "RSA PRIVATE KEY-----",
    ]
)

KEYS = [
    ("anthropic-key", made("sk-" + "ant-api03-", 90)),
    ("openrouter-key", made("sk-" + "or-v1-", 64, HEX)),
    ("api-key", made("sk-" + "proj-", 120)),
    ("api-key", made("sk-", 48)),
    ("api-key", made("sk_", 48, HEX)),
    ("langfuse-key", "sk-" + "lf-12345678-1234-4123-8123-123456789abc"),
    ("groq-key", made("gsk_", 52)),
    ("xai-key", made("xai-", 80)),
    ("perplexity-key", made("pplx-", 48)),
    ("cerebras-key", made("csk-", 48, "q8w7e6r5")),
    ("fireworks-key", made("fw_", 24)),
    ("replicate-token", made("r8_", 37)),
    ("together-key", made("tgp_v1_", 43)),
    ("nvidia-key", made("nvapi-", 64)),
    ("hugging-face-token", made("hf_", 34)),
    ("google-key", made("AI" + "za", 35)),
    ("google-token", made("ya29.", 100)),
    ("google-secret", made("GOC" + "SPX-", 28)),
    ("langsmith-key", made("lsv2_pt_", 32, HEX) + "_" + made("", 10, HEX)),
    ("tavily-key", made("tvly-dev-", 32)),
    ("pinecone-key", made("pcsk_", 60)),
    ("notion-token", made("ntn_", 46)),
    ("notion-token", made("secret_", 43)),
    ("linear-key", made("lin_api_", 40)),
    ("airtable-token", made("pat", 14) + "." + made("", 64, HEX)),
    ("figma-token", made("figd_", 40)),
    ("postman-key", made("PMAK-", 24, HEX) + "-" + made("", 34, HEX)),
    ("atlassian-token", made("ATATT3", 180)),
    ("aws-access-key", made("AK" + "IA", 16, UPPER)),
    ("aws-access-key", made("AS" + "IA", 16, UPPER)),
    ("github-token", made("gh" + "p_", 36)),
    ("github-token", made("gh" + "s_", 36)),
    ("github-token", made("github" + "_pat_", 82)),
    ("gitlab-token", made("gl" + "pat-", 20)),
    ("npm-token", made("npm_", 36)),
    ("pypi-token", made("pypi-", 150)),
    ("docker-token", made("dckr_pat_", 27)),
    ("digitalocean-token", made("dop_v1_", 64, HEX)),
    ("databricks-token", made("dapi", 32, HEX)),
    ("vault-token", made("hvs.", 90)),
    ("terraform-token", made("", 14) + ".atlasv1." + made("", 60)),
    ("supabase-key", made("sbp_", 40, HEX)),
    ("planetscale-token", made("pscale_tkn_", 43)),
    ("grafana-token", made("glsa_", 32)),
    ("sentry-token", made("sntrys_", 80)),
    ("newrelic-key", made("NRAK-", 27, UPPER)),
    ("slack-token", "xox" + "b-123456789012-1234567890123-" + made("", 24)),
    ("slack-token", made("xapp-1-", 60)),
    ("webhook", "hooks.slack" + ".com/services/T00000000/B00000000/" + made("", 24)),
    ("webhook", "discord.com/api/webhooks/123456789012345678/" + made("", 68)),
    ("telegram-token", "1234567890:AA" + made("", 33)),
    ("twilio-key", made("SK", 32, HEX)),
    ("sendgrid-key", made("SG.", 22) + "." + made("", 43)),
    ("stripe-key", made("sk_" + "live_", 24)),
    ("stripe-key", made("rk_" + "test_", 99)),
    ("stripe-secret", made("whsec_", 32)),
    ("shopify-token", made("shpat_", 32, HEX)),
    ("square-token", made("sq0atp-", 22)),
    ("private-key", made("AGE-SECRET-KEY-1", 58, UPPER)),
    ("private-key", PEM),
    ("private-key", PEM.replace("\n", "\\n")),
    ("jwt", JWT),
]


@pytest.mark.parametrize(("name", "key"), KEYS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(KEYS)])
@pytest.mark.parametrize(
    "around",
    ["{}", "key {} refused", '{{"error": "bad key: {}"}}', "({})", "<{}>", "a={},b=1", "'{}'."],
)
def test_keys_of_the_usual_providers_become_their_name(name: str, key: str, around: str) -> None:
    text = redact(around.format(key))

    assert key not in text
    assert text == around.format(f"[redacted:{name}]")


PASSWORD = "hunter-Two,3)x"
SECRET = made("", 24)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"password={PASSWORD} next", "password=[redacted:password] next"),
        (f"DB_PASSWORD={PASSWORD}\nnext", "DB_PASSWORD=[redacted:password]\nnext"),
        (f"export PGPASSWORD='{PASSWORD}'", "export PGPASSWORD='[redacted:password]'"),
        (f"Password: {PASSWORD}", "Password: [redacted:password]"),
        ("password=pw", "password=[redacted:password]"),
        (f'{{"password": "{PASSWORD}", "n": 1}}', '{"password": "[redacted:password]", "n": 1}'),
        ('{"password": "a\\"b c", "n": 1}', '{"password": "[redacted:password]", "n": 1}'),
        ('{\\"password\\": \\"a\\\\\\"b\\"}', '{\\"password\\": \\"[redacted:password]\\"}'),
        (f"{{'api_key': '{SECRET}'}}", "{'api_key': '[redacted:secret]'}"),
        (f"OPENAI_API_KEY={SECRET}", "OPENAI_API_KEY=[redacted:secret]"),
        (f"X-Api-Key: {SECRET}", "X-Api-Key: [redacted:secret]"),
        (f"accessToken: {SECRET}", "accessToken: [redacted:secret]"),
        (f"client_secret => '{SECRET}'", "client_secret => '[redacted:secret]'"),
        (f"aws_secret_access_key = {SECRET}", "aws_secret_access_key = [redacted:secret]"),
        (f"?access_token={SECRET}&page=2", "?access_token=[redacted:secret]&page=2"),
        (f"/x?key={SECRET}&page=2", "/x?key=[redacted:secret]&page=2"),
        (f"&X-Amz-Signature={SECRET}", "&X-Amz-Signature=[redacted:secret]"),
        (f"password%3D{SECRET}", "password%3D[redacted:password]"),
        (f"mysql --password {PASSWORD} -h db", "mysql --password [redacted:password] -h db"),
        (f"tool --api-key {SECRET}", "tool --api-key [redacted:secret]"),
        (f"<password>{PASSWORD}</password>", "<password>[redacted:secret]</password>"),
        (f"AccountKey={SECRET};x=1", "AccountKey=[redacted:secret];x=1"),
        (f"Authorization: Bearer {SECRET}", "Authorization: [redacted:authorization]"),
        (f"'Authorization': 'Bearer {SECRET}'", "'Authorization': '[redacted:authorization]'"),
        (f'{{"authorization": "{SECRET}"}}', '{"authorization": "[redacted:authorization]"}'),
        (f"with Bearer {SECRET} sent", "with Bearer [redacted:authorization] sent"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted:authorization]"),
        ("Cookie: sid=1234; other=5\nnext", "Cookie: [redacted:cookie]\nnext"),
        ("postgres://app:p@ss@db:5432/x", "postgres://[redacted:url-credentials]@db:5432/x"),
        ("https://user:pw@host/path", "https://[redacted:url-credentials]@host/path"),
        ("mail jane.doe+x@example.co.uk now", "mail [redacted:email] now"),
        ("card 4111 1111 1111 1111.", "card [redacted:card-number]."),
        ("5555-5555-5555-4444", "[redacted:card-number]"),
        ("378282246310005", "[redacted:card-number]"),
        ("4111111111111111 12/27 123", "[redacted:card-number] 12/27 123"),
        ("4111111111111111 4242424242424242", "[redacted:card-number] [redacted:card-number]"),
        ("password='a token: 1234567'", "password='[redacted:password]'"),
        ("3782 822463 10005", "[redacted:card-number]"),
    ],
)
def test_secrets_are_found_by_what_stands_around_them(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "trace 4bf92f3577b34da6a3ce929d0e0e4736 span 00f067aa0ba902b7",
        "run 123e4567-e89b-12d3-a456-426614174000",
        "4111-1111-1111-1111-0000 is no card, nor is 41111111-1111-4111-8111-111111111111",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit d41d8cd98f00b204e9800998ecf8427e of key-d41d8cd98f00b204e9800998ecf8427e",
        "toolu_01A09q90qw90lq917835lq9 call_abc123DEF456ghi789 msg_01XFDUDYJgAACzvnptvVoYEL",
        "chatcmpl-9abcDEF123456789 resp_68a1b2c3 req_011CSHoEeqs5C35K2UUqR7Fy",
        "thread_abc123 asst_abc123 run_abc123 file-abc123 batch_abc123",
        "/home/user/projects/app/src/token/parser.py:12",
        r"C:\Users\me\secrets\readme.md",
        "1764515533 1764515533123 1764515533123456 1764515533123456789",
        "4242424242424241 4111111111111112 1234567812345670",
        "0.4111111111111111 4111111111111111.5",
        "max_tokens: 4096, input_tokens=123456, total_tokens: 7, token: 4096",
        "tokenizer: gpt-4-turbo; token_count=17; tokens: many",
        "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
        "Unexpected token: } at position 12",
        "secretary: Robert; passport: none; passing: 12; pass: 10 fail: 2",
        "password: null, token: None, api_key: undefined, secret: ${SECRET}",
        "token: {{ vault.token }} password=$DB_PASSWORD api_key=os.environ['OPENAI_API_KEY']",
        "password: ******** key: sk-xxx",
        "PWD=/root/work OLDPWD=/root private_key: ~/.ssh/id_ed25519",
        "the password is required and the api key was missing",
        "basic information, bearer authentication failed",
        "sk-learn-contrib-package and task-force-of-twenty-people",
        "git@github.com:owner/repo.git logo@2x.png npm i @scope/pkg@1.2.3",
        "https://example.com/a/b?page=2&key=short",
        "http://[::1]:8080/x ssh://host/x",
        "Basic understanding, basic dXNlcm5hbWU= and Basic =x==y==z==",
        "4111111111111111-4111",
        "4111111111111111abc, 41111111111111114111111111111111",
        "4111111111111111.5",
        "AKIA is a prefix, AKIAIOSF too",
        "-----BEGIN PUBLIC KEY-----",
        "rate limit reached for gpt-4o in organization org-AbCdEf1234567890 on tokens per min",
        "3.14159265358979323846264338",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=300))
@example("password=\ud800abc")
@example('token="' + "\\" * 99)
def test_any_text_is_redacted_without_a_fault_and_once_is_enough(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(
    before=st.text(alphabet=' \n\t"{}[]():=,;abc', max_size=30),
    after=st.sampled_from(["", " ", "\n", '"', "'", ",", "}", ")", "\\n", "&x=1", "é", "\u3002"]),
    key=st.sampled_from([key for _, key in KEYS]),
)
def test_a_key_is_found_wherever_it_stands(before: str, after: str, key: str) -> None:
    text = redact(f"{before} {key}{after}")

    assert key not in text
    assert "[redacted:" in text


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=3), st.integers(0, 3))
def test_a_password_is_found_in_json_within_json(others: dict[str, str], depth: int) -> None:
    value: object = {**others, "db_password": 'wh"at\\ever 12', "last": "kept"}
    for _ in range(depth):
        value = {"arguments": json.dumps(value)}
    text = redact(json.dumps(value))

    assert "ever 12" not in text
    assert "kept" in text


def test_input_is_bounded_and_cut_between_words() -> None:
    key = made("gh" + "p_", 36)
    text = "x" * (MAX_CHARACTERS - 20) + " " + key + " tail"

    short = redact(text)
    assert len(short) <= MAX_CHARACTERS + len(LEFT_OUT)
    assert short.endswith(LEFT_OUT)
    assert "gh" + "p_" not in short
    assert len(redact("y" * (2 * MAX_CHARACTERS))) == MAX_CHARACTERS + len(LEFT_OUT)


def test_a_private_key_that_was_cut_off_is_redacted_to_the_end() -> None:
    assert redact("x " + PEM[:150]) == "x [redacted:private-key]"


def test_values_are_redacted_by_their_names_too() -> None:
    values = {"operation": "search", "api_key": "short", "user": "a@example.com", "token": ""}

    assert redact_values(values) == {
        "operation": "search",
        "api_key": "[redacted:secret]",
        "user": "[redacted:email]",
        "token": "",
    }
