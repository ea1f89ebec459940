import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { problemText } from '../../api/problem'
import { previewReport, type ReportSection } from '../../api/queries/capacity/reports'
import { downloadBlob } from '../../ui/export/download'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { Prose } from '../../ui/text/Prose'
import classes from './CapacityPage.module.css'

/** The report as it would be sent now: shown as HTML, downloaded as PDF. */
export function ReportPreview({ name, sections }: { name: string; sections: ReportSection[] }) {
  const showing = useMutation({
    mutationFn: async () => (await previewReport(name, sections, 'html')).text(),
  })
  const making = useMutation({
    mutationFn: () => previewReport(name, sections, 'pdf'),
    onSuccess: (file) => downloadBlob('tierscope-report.pdf', file),
  })
  const failed = showing.error ?? making.error
  const ready = name.trim() !== '' && sections.length > 0
  return (
    <Panel
      title="Preview"
      hint="as it would be sent now"
      actions={
        <>
          <Button variant="default" disabled={!ready} loading={showing.isPending} onClick={() => showing.mutate()}>
            Show
          </Button>
          <Button variant="default" disabled={!ready} loading={making.isPending} onClick={() => making.mutate()}>
            PDF
          </Button>
        </>
      }
      flush
    >
      {failed !== null && (
        <p role="alert" className={classes.fault}>
          <Prose text={problemText(failed)} />
        </p>
      )}
      {showing.data === undefined ? (
        <EmptyState title="No preview yet" next="“Show” builds the report from current data. Nothing is sent." />
      ) : (
        // The report is a document of its own: it runs no script and reaches nothing of the dashboard.
        <iframe className={classes.frame} sandbox="" srcDoc={showing.data} title="Preview of the report" />
      )}
    </Panel>
  )
}
