import type { QueryClient } from '@tanstack/react-query'
import type { ReportRequest } from '../../_generated/schema'
import { client, dataOf, doneBy } from '../../client'
import { askedQuery } from '../base/ask'

/** What a report can hold. */
export type ReportSection = ReportRequest['sections'][number]

/** All scheduled reports with their newest sending. Operators alone may see to whom they go. */
export function reportsQuery() {
  return askedQuery(['reports'], (signal) => client.GET('/v1/reports', { signal }), { staleTime: 15_000, retry: false })
}

/** Schedule a report. Throws ApiProblem. */
export function scheduleReport(queries: QueryClient) {
  return {
    mutationFn: (body: ReportRequest) => dataOf(client.POST('/v1/reports', { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['reports'] }),
  }
}

/** Delete a scheduled report. Throws ApiProblem. */
export function deleteReport(queries: QueryClient) {
  return {
    mutationFn: (reportId: string) =>
      doneBy(client.DELETE('/v1/reports/{report_id}', { params: { path: { report_id: reportId } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['reports'] }),
  }
}

/** The report as it would be sent now. Throws ApiProblem. */
export function previewReport(name: string, sections: ReportSection[], format: 'html' | 'pdf'): Promise<Blob> {
  return dataOf<Blob>(
    client.POST('/v1/reports/preview', { params: { query: { format } }, body: { name, sections }, parseAs: 'blob' }),
  )
}
