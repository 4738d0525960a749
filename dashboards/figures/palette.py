"""Colours of all pictures, named by what they show.

The page's script draws the steps of one rebalance in `STEP_COLOURS`, which it finds in the page's data. Colours of
paper, text, lines and heat maps depend on the reader's theme; they are variables in `assets/report.css`.
"""

from __future__ import annotations

# Each pair of colours can be distinguished with normal, red-blind and green-blind sight, and each contrasts with white
# and near-black. Tests check both. Marks differ in shape too.
FAMILY_COLOURS = {
    "join": "#2883eb",
    "restart": "#33a678",
    "leave": "#f5a802",
    "timeout": "#ed6500",
    "change": "#5e2ec9",
    "followup": "#6fabff",
    "admin": "#564b5c",
    "broker": "#a15597",
    "fault": "#86560d",
    "unknown": "#96bdbd",
}
"""Families of causes. No other meaning has a colour as strong."""

# A rebalance has the colour of its cause; these are for the times around it. Green is at work, dark is waiting, light
# is empty or outside the group.
STATE_COLOURS = {
    "Stable": "rgba(64,150,110,0.40)",
    "Empty": "rgba(128,134,145,0.22)",
    "PreparingRebalance": "rgba(105,112,126,0.80)",
    "CompletingRebalance": "rgba(150,158,172,0.80)",
    "Assigning": "rgba(150,158,172,0.80)",
    "Reconciling": "rgba(105,112,126,0.80)",
    "Dead": "rgba(128,134,145,0.55)",
    "NotReady": "rgba(128,134,145,0.50)",
}
"""States of groups."""
CLIENT_STATE_COLOURS = {"STABLE": "rgba(64,150,110,0.40)", "REBALANCING": "rgba(95,112,136,1)", "UNJOINED": "rgba(128,134,145,0.25)"}
OTHER_STATE_COLOUR = "#808080"

DELAY_COLOUR = "#c9d0d9"
"""The initial delay, which is expected."""
WAITING_COLOUR = "#5f7088"
"""Waiting for members, and downtime in general."""
ASSIGNMENT_COLOUR = "#9db3cf"
SAVED_COLOUR = "#9db3cf"
"""Downtime that another configuration would have saved."""
BLOCKING_COLOUR = "rgba(140,147,160,0.75)"
BLOCKING_MARK_COLOUR = "rgba(140,147,160,0.9)"
"""Rebalances that a member held up without causing them."""
OUTAGE_COLOUR = "#c43d52"
"""Brokers that are down, partitions without a leader, queues with two owners."""
MOVE_COLOUR = FAMILY_COLOURS["broker"]
"""Moves of coordinators."""
MEMBERS_COLOUR = "#5f7088"
NO_MEMBERS_COLOUR = "#b9c0ca"
SERVER_FILE_COLOUR = "#5f7088"
"""Files of brokers.

Kinds of files differ in lightness, and in pattern where they share a colour.
"""
CLIENT_FILE_COLOUR = "#9db3cf"
OTHER_FILE_COLOUR = "#b9c0ca"
NO_OWNER_COLOUR = "#7a8394"
OWNER_COLOURS = tuple(FAMILY_COLOURS[name] for name in ("join", "restart", "leave", "broker", "followup", "fault", "change", "unknown"))
"""Colours that separate neighbouring owners of queues; no owner has its own."""
ACTUAL_COLOUR = FAMILY_COLOURS["timeout"]
"""Rebalances that there were, beside those under another configuration."""
PREDICTED_COLOUR = FAMILY_COLOURS["join"]
OUTLINE_COLOUR = "#ffffff"
"""Outlines of marks, and numbers inside bars."""
TRANSPARENT = "rgba(0,0,0,0)"

STEP_COLOURS = {
    "delay": DELAY_COLOUR,
    "waiting": WAITING_COLOUR,
    "assignment": ASSIGNMENT_COLOUR,
    "blocker": OUTAGE_COLOUR,
    "member": ASSIGNMENT_COLOUR,
    "end": WAITING_COLOUR,
    "outline": OUTLINE_COLOUR,
    "paper": TRANSPARENT,
}
"""Steps of one rebalance, drawn by the page's script."""
