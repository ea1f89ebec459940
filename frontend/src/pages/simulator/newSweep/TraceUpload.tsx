import { FileInput, Radio } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { TraceUpload as Upload } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { deleteTrace, uploadTrace } from '../../../api/queries/simulate/simulate'
import { formatBytes, formatCount } from '../../../lib/units/units'
import { ConfirmDelete } from '../../../ui/inputs/ConfirmDelete'
import { Prose } from '../../../ui/text/Prose'
import classes from '../SimulatorPage.module.css'
import upload from './TraceUpload.module.css'

interface TraceUploadProps {
  uploads: Upload[]
  chosen: string | null
  onChoose: (uploadId: string | null) => void
}

/** Uploads page traces in Parquet, and chooses among those that are there. */
export function TraceUpload({ uploads, chosen, onChoose }: TraceUploadProps) {
  const queries = useQueryClient()
  const sending = useMutation(uploadTrace(queries))
  const deleting = useMutation(deleteTrace(queries))
  const error = sending.error ?? deleting.error
  return (
    <>
      <FileInput
        size="xs"
        maw={420}
        label="Page trace"
        description="Parquet, a row for each page and interval: see the manual of `tierscope simulate`"
        placeholder={sending.isPending ? 'Uploading…' : 'Choose a file'}
        accept=".parquet,application/octet-stream"
        leftSection={<IconUpload size={14} aria-hidden />}
        disabled={sending.isPending}
        value={null}
        onChange={(file) => {
          if (file !== null) sending.mutate(file, { onSuccess: (made) => onChoose(made.id) })
        }}
      />
      {error !== null && (
        <p className={classes.fault} role="alert">
          <Prose text={problemText(error)} />
        </p>
      )}
      {uploads.length > 0 && (
        <Radio.Group value={chosen} onChange={onChoose} aria-label="Uploaded traces" mt={10}>
          <ul className={upload.list}>
            {uploads.map((trace) => (
              <li key={trace.id} className={upload.item}>
                <Radio size="xs" value={trace.id} label={trace.name} />
                <span className={upload.facts}>
                  {formatCount(trace.pages)} pages, {formatCount(trace.intervals)} intervals,{' '}
                  {formatCount(trace.accesses)} accesses, {formatBytes(trace.bytes)}
                </span>
                <ConfirmDelete
                  compact
                  what={trace.name}
                  consequence="The trace is gone; what was replayed from it stays."
                  pending={deleting.isPending && deleting.variables === trace.id}
                  onConfirm={() =>
                    deleting.mutate(trace.id, { onSuccess: () => (chosen === trace.id ? onChoose(null) : undefined) })
                  }
                />
              </li>
            ))}
          </ul>
        </Radio.Group>
      )}
    </>
  )
}
