"""The rule that `rules new` writes: it lints, passes its own tests, and says what each part is."""

from __future__ import annotations

_SKELETON = """\
# The reference of the rule language: docs/rules.md. Check this file while you write it:
#   lastsignal rules lint {path}
#   lastsignal rules test {path}
id: {id}                       # the name of this file; stable for ever, metrics refer to it
title: {title}
status: experimental           # experimental | stable | deprecated
severity: warning              # info | warning | critical
category: other                # a name for this kind of failure
description: Detects a tool that fails twice in a row.
summary: "`{{operation}}` failed {{times}}"   # placeholders: any field, {{count}}, …
cause: >-
  `{{operation}}` failed {{times}} in {{duration}}, with no success in between:
  "{{last.error_message}}".
remedy: >-
  1. Say what to look at first. 2. Say what to change. 3. Say how to run again.
false_positives:
  - Say when it fires although nothing is wrong, or write Unlikely.
params: {{at_least: 2}}          # what the configuration may override; $at_least below
where:                         # which events count; every key must hold, a list means any of
  event_type: tool_result
  status: failed
  unless_expected:             # a named exception
    operation: [check_health]
window:                        # how many of them make a finding
  kind: streak                 # event, count, streak, distinct, sum, ratio, spike, growth, …
  group_by: [trace_id, operation]
  at_least: $at_least
  reset: {{event_type: tool_result, status: completed}}
explains: [run_failed]         # findings of these rules are symptoms of this one
tests:                         # at least one that fires and one near miss that stays quiet
  - name: two failures in a row
    events:                    # `at` counts from the start; an event without it comes 1 s later
      - {{at: 0s, event_type: tool_result, operation: search, status: failed, error_message: gone}}
      - {{at: 5s, like: 0}}      # a copy of event 0
    expect:
      - {{at: 5s, operation: search, count: 2}}
  - name: a success in between
    events:
      - {{event_type: tool_result, operation: search, status: failed}}
      - {{event_type: tool_result, operation: search, status: completed}}
      - {{event_type: tool_result, operation: search, status: failed}}
    expect: []
  - name: the exception
    events:
      - {{event_type: tool_result, operation: check_health, status: failed, repeat: 3}}
    expect: []
"""


def skeleton(rule_id: str, path: str) -> str:
    """Return a commented rule of this id, to be changed into what its author means."""
    title = rule_id.replace("_", " ").capitalize()
    return _SKELETON.format(id=rule_id, title=title, path=path)
