"""Entry point of the unit sagemaker-cluster-agent."""

from cluster_agent.main import main

raise SystemExit(main())
