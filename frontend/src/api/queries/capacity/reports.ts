import type { ReportRequest } from '../../_generated/schema'
import { client, dataOf } from '../../client'
import { askedQuery, changing, send } from '../base/ask'

/** What a report can hold. */
export type ReportSection = ReportRequest['sections'][number]

/** All scheduled reports with their newest sending. Operators alone may see to whom they go. */
export function reportsQuery() {
  return askedQuery('/v1/reports', {}, { staleTime: 15_000, retry: false })
}

/** Schedule a report. Throws ApiProblem. */
export const scheduleReport = changing(['/v1/reports'], (body: ReportRequest) => send('post', '/v1/reports', {}, body))

/** Delete a scheduled report. Throws ApiProblem. */
export const deleteReport = changing(['/v1/reports'], (id: string) =>
  send('delete', '/v1/reports/{report_id}', { report_id: id }),
)

/** The report as it would be sent now. Throws ApiProblem. */
export function previewReport(name: string, sections: ReportSection[], format: 'html' | 'pdf'): Promise<Blob> {
  return dataOf<Blob>(
    client.POST('/v1/reports/preview', { params: { query: { format } }, body: { name, sections }, parseAs: 'blob' }),
  )
}
