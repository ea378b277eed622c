"""The words by which providers, clients, shells and tools name a failure, by error class.

In each table the first match wins. A bare number is no status code: it counts only where a text
says so (`HTTP 429`, `error: 503`, `404 Not Found`), for tools count rows and name lines too.
"""

from __future__ import annotations

import re2

MAX_CHARACTERS = 4096
"""As much of a text as is looked at: what follows is a dump of something."""

_MEMORY_BYTES = 32 << 20  # of the automaton of one table, for patterns that ignore case


class Table:
    """Rows of a class and the pattern of the texts that speak of it.

    All patterns are looked for in one pass, in time that is linear in the length of the text.
    """

    def __init__(self, *rows: tuple[str, str]) -> None:
        options = re2.Options()
        options.case_sensitive = False
        options.max_mem = _MEMORY_BYTES
        self._names = [name for name, _ in rows]
        self._patterns = re2.Set.SearchSet(options)
        for _, pattern in rows:
            self._patterns.Add(pattern)
        self._patterns.Compile()

    def first(self, text: str) -> str | None:
        """Return the class of the first row that speaks of the text, None where there is none."""
        found = self._patterns.Match(text[:MAX_CHARACTERS].encode("utf-8", "replace"))
        return self._names[min(found)] if found else None


def _code(codes: str) -> str:
    """Return the pattern of a status code where a text gives it as one."""
    said = r"\b(?:https?(?:/\d(?:\.\d)?)?|status|code|error|failed|response|returned|with|got)"
    return rf"(?:^|[(\[]|{said}[ :=#'\"]{{1,3}})(?:{codes})(?:[.,](?:\D|$)|[^\w.,]|$)"


OUTRIGHT = Table(
    (
        "rate_limit",
        r"throttling(?:exception|error)?\b"
        r"|too many tokens, please wait|(?:tokens|requests) per (?:min|minute|second|day)\b",
    ),
    (
        "context_length",
        r"context[_ ]?(?:length|window|limit|size)[_ ]?(?:(?:is|was|has been) )?"
        r"(?:exceed|full|overflow|reached)"
        r"|exceed(?:s|ed)? (?:the )?(?:model'?s? )?(?:available |maximum |remaining )?context"
        r"|(?:ran|run|runs|running) out of (?:room|space) in .{0,30}context"
        r"|(?:session|model) token limit|range of input length should be"
        r"|maximum (?:context|prompt|model|input) length"
        r"|(?:prompt|input|request|conversation|context) (?:is |was )?too long"
        r"|token count .{0,40}exceeds|too many (?:input |prompt )?tokens"
        r"|reduce (?:the )?(?:length|size) of (?:the |your )?(?:messages|prompt|input|context)"
        r"|contextwindow(?:exceeded|overflow)",
    ),
    (
        "content_filter",
        r"content[_ ](?:filter|policy|management)|responsible ?ai|safety (?:system|filter|setting)"
        r"|flagged as|violat\w+ (?:our|the|openai'?s?|usage) ?(?:usage |content )?polic"
        r"|blocked by (?:the )?(?:safety|content|guardrail)"
        r"|finish[_ ]?reason:? (?:safety|recitation|prohibited_content)",
    ),
    ("", r"\bretry budget\b"),  # of attempts: no money is meant
    (
        "budget",
        r"budget (?:\w+ )?(?:exceeded|exhausted|reached|limit)|budget has been exceeded"
        r"|budget_?exceeded|exceeded_?budget"
        r"|(?:exceeded|over|out of) (?:\w+ )?budget|max[_ ]budget|spend(?:ing)? limit|cost limit",
    ),
    (
        "quota",
        r"insufficient[_ ](?:quota|credit|balance|funds)|exceeded your current quota"
        r"|\bbilling\b|billing_|credit balance|(?:out of|more|enough|included) credits"
        r"|payment required|account_on_hold|plan and billing|(?:monthly|daily) quota"
        r"|usage limits?\b|\d-?(?:hour|day) limit reached|weekly limit"
        r"|\b(?:session|opus|sonnet) limit reached\W+resets\b"
        r"|(?:hit|reached) your (?:(?:session|daily|monthly|plan|opus|sonnet) )?limit\b"
        r"|quota will reset (?:at|on|(?:after|in) (?:about )?\d+ ?[mhd])",
    ),
    (
        "permission",
        r"(?:plan|subscription|account|tier) (?:does not|doesn't|lacks)\b"
        r"|not (?:included|available) (?:in|on|with) your (?:plan|tier)"
        r"|does(?: not|n't) have access to (?:the )?model|don'?t have access to the model"
        r"|model_not_available|issue with the selected model",
    ),
    ("resource", r"disk quota exceeded"),
)
"""What a text says outright, whatever code came with it: one code stands for several causes."""

BY_TYPE = Table(
    ("rate_limit", r"rate_?limit|throttl|too_?many_?requests|resource_?exhausted"),
    ("overloaded", r"overload|serviceunavailable|^unavailable$"),
    ("timeout", r"time_?d?_?out|time_?exceeded|deadline_?exceeded|timeoutexpired"),
    ("cancelled", r"cancel|interrupt|aborted$"),
    ("auth", r"authentication|unauthori[sz]ed|unauthenticated|credential|oauth|expired_?token"),
    ("permission", r"permission|forbidden|access_?denied|not_?allowed|approval"),
    (
        "connection",
        r"^e(?:notfound|ai_again|conn\w+|pipe|hostunreach|netunreach|netdown|hostdown)$"
        r"|^(?:err_tls_|cert_|unable_to_(?:verify|get)_|self_signed_cert|depth_zero_self)",
    ),
    ("not_found", r"not_?found|nosuch|filenotfound|is_a_directory|isadirectory"),
    (
        "schema",
        r"validation|schema|pars(?:ing|er)|jsondecode|formaterror|typeerror|keyerror"
        r"|structuredoutput|unicode_?decode",
    ),
    (
        "invalid_request",
        r"bad_?request|invalid_?request|invalid_?argument|valueerror|unprocessable",
    ),
    (
        "connection",
        r"connect|network|socket|ssl|dns|brokenpipe|protocolerror|gaierror|apiconnection",
    ),
    ("resource", r"memory|diskfull|nospace|sandbox_?unavailable|output_?limit|oserror"),
    ("server_error", r"internal_?server|server_?error|api_error|badgateway|^internal$"),
    ("tool_error", r"tool"),
)

BY_TEXT = Table(
    (
        "rate_limit",
        _code("429") + r"|rate[ _-]?limit|too[ _]many[ _]requests|throttl"
        r"|resource (?:has been )?exhausted|resource_exhausted|quota exceeded|exceeded [\w ]*quota"
        r"|exhausted your (?:capacity|quota)|quota will reset",
    ),
    (
        "overloaded",
        _code("529|503") + r"|overloaded|service unavailable|temporarily unavailable|at capacity"
        r"|(?:provider|model|server) overload|\bmodel\b.{0,60}\bloading\b",
    ),
    (
        "timeout",
        _code("504|408|524") + r"|\btime[sd]?[ -]?out\b|timeout|etimedout|took too long"
        r"|deadline (?:exceeded|expired)|\bexit(?:ed with)? (?:code|status) 124\b",
    ),
    (
        "auth",
        _code("401") + r"|unauthori[sz]ed|(?:invalid|incorrect|missing|no) (?:x-)?api[ -_]?key"
        r"|api[ _-]?key (?:is )?(?:not valid|invalid|missing|expired)|api_key .{0,20}must be set"
        r"|authentication|credentials? (?:were |was |could )?not (?:be )?(?:found|located)"
        r"|unable to locate credentials|(?:no|missing|invalid|bad|expired) credentials"
        r"|(?:security |access |refresh |bearer )token .{0,40}(?:invalid|expired|revoked)"
        r"|token (?:has |is )?(?:been )?(?:expired|revoked)|jwt expired|invalid_grant"
        r"|not logged in",
    ),
    (
        "permission",
        _code("403") + r"|forbidden|(?:permission|access) (?:was )?denied|accessdenied"
        r"|not permitted|operation not allowed|(?:not|n't) have (?:\w+ )?permission"
        r"|not accessible by|not authori[sz]ed to",
    ),
    (
        "schema",
        r"validation error|does not match (?:the )?schema|invalid json|json ?decode"
        r"|missing \d* ?required|is a required property|fields? (?:is )?required"
        r"|(?:missing|unexpected) (?:keyword|parameter|argument|property)|invalid arguments for"
        r"|positional arguments? but|(?:argument|parameter) .{1,60}\b(?:must|should|cannot) be\b"
        r"|input should be|(?:failed|unable|could not|cannot) (?:to )?parse|not valid json"
        r"|expecting (?:value|property name|',' delimiter)|unterminated string"
        r"|unexpected (?:token|end) .{0,20}json|pars(?:er|ing) ?(?:exception|error)",
    ),
    (
        "not_found",
        _code("404") + r"|not found|no such (?:file|tool|table|host)|does not exist"
        r"|unknown (?:tool|function|model)",
    ),
    (
        "connection",
        r"connection (?:was )?(?:refused|reset|error|aborted|closed|failed)|econn|ehostun|enetun"
        r"|enotfound|eai_again|network (?:error|is unreachable)|unreachable|ssl[:_ ]"
        r"|(?:name|temporary failure in name) resolution|name or service not known"
        r"|could not resolve|getaddrinfo|broken pipe|fetch failed|socket hang up"
        r"|(?:closed|disconnected|closed connection) without (?:sending|response)"
        r"|closed connection|no route to host|certificate verify|max retries exceeded with url"
        r"|err_(?:connection|name_not|internet|network|ssl|cert)"
        r"|(?:failed|could not|unable) (?:to )?(?:establish|connect)",
    ),
    (
        "resource",
        r"out of memory|cannot allocate memory|memory limit|no space left|oom[- ]?kill|memoryerror"
        r"|too many open files|disk full|heap limit",
    ),
    (
        "cancelled",
        r"cancell?ed|interrupted|keyboardinterrupt|aborted by|request was aborted",
    ),
    (
        "server_error",
        _code("50[0-2]|52[0-3]") + r"|internal (?:server )?error|bad gateway|server[_ ]error"
        r"|server had an error|upstream request failed",
    ),
    (
        "invalid_request",
        _code("400|422") + r"|bad request|invalid (?:request|argument|parameter|value)",
    ),
)
