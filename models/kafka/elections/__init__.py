"""Leader elections of Kafka's controllers, by version.

Follows PartitionLeaderElectionAlgorithms.scala and PartitionChangeBuilder.java. Imports nothing. Start with
`leader_election`.
"""
