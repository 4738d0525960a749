"""Leader elections of Kafka's controllers, by version.

Follows PartitionLeaderElectionAlgorithms.scala and PartitionChangeBuilder.java. Imports `models` alone. Start with
`leader_election`.
"""
