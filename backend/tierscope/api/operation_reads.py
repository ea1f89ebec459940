"""Dependencies of the pages that operators use: releases of agents, completeness of data, labels, removals."""

from fastapi import Request

from tierscope.usecases.agent_versions import AgentVersions
from tierscope.usecases.data_quality import DataQualityReads
from tierscope.usecases.labels import Labels
from tierscope.usecases.purges import Purges


def agent_versions(request: Request) -> AgentVersions:
    """Reads of agents' releases."""
    return AgentVersions(request.app.state.reads)


def data_quality_reads(request: Request) -> DataQualityReads:
    """Reads of data quality."""
    return DataQualityReads(request.app.state.reads)


def labels_of(request: Request) -> Labels:
    """Labels of hosts."""
    context = request.app.state.reads
    return Labels(context.database, clock=context.clock)


def purges_of(request: Request) -> Purges:
    """Jobs that remove data."""
    context = request.app.state.reads
    return Purges(context.database, clock=context.clock)
