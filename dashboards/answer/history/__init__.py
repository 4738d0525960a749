"""History of groups: waiting, profiles, periods, deployments.

`blocker_ranking` shares out the seconds that others waited among the blockers that `models.kafka.verdicts.blockers` names. Pure
functions over rebalances and rows. Imports `answer`, `wording`, `view`, `conf` and `models.downtime`. Start with `trends`.
"""
