import { Button, FileButton, Modal } from '@mantine/core'
import { IconTags } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { LabelUpload } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { uploadHostLabels } from '../../../api/queries/fleet/labels'
import { countOf } from '../../../lib/units/units'
import { Stack } from '../../../ui/layout/Stack'
import { Fault } from '../../../ui/states/Fault'
import { useSession } from '../../shell/access/useSession'
import { LabelsPreview } from './LabelsPreview'

/** Labels for many hosts from a CSV file: first what it would change, then, on request, the change. */
export function LabelsUpload() {
  const { may } = useSession()
  const [opened, setOpened] = useState(false)
  if (!may('write:labels')) return null
  return (
    <>
      <Button variant="default" leftSection={<IconTags size={14} aria-hidden />} onClick={() => setOpened(true)}>
        Labels by CSV
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title="Labels of many hosts" size="lg">
        <UploadForm onClose={() => setOpened(false)} />
      </Modal>
    </>
  )
}

function UploadForm({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [csv, setCsv] = useState<string | null>(null)
  const trying = useMutation(uploadHostLabels(queries))
  const storing = useMutation(uploadHostLabels(queries))
  const choose = (file: File | null) => {
    if (file === null) return
    storing.reset()
    void file.text().then((text) => {
      setCsv(text)
      trying.mutate({ csv: text, dryRun: true })
    })
  }
  const done: LabelUpload | undefined = storing.data
  const preview = done ?? trying.data
  const problem = storing.error ?? trying.error
  return (
    <Stack>
      <p>
        A header <code>host,rack,sku</code>, then a row for each host by name or id. An empty cell leaves a label as it
        is, <code>-</code> takes it away.
      </p>
      <FileButton accept="text/csv,.csv" onChange={choose} inputProps={{ 'aria-label': 'CSV file of labels' }}>
        {(props) => (
          <Button {...props} variant="default" loading={trying.isPending}>
            Choose a CSV file
          </Button>
        )}
      </FileButton>
      {problem !== null && <Fault text={problemText(problem)} />}
      {preview !== undefined && <LabelsPreview upload={preview} />}
      {done !== undefined ? (
        <Button onClick={onClose}>Close</Button>
      ) : (
        trying.data !== undefined &&
        csv !== null && (
          <Button
            loading={storing.isPending}
            disabled={trying.data.changed.length === 0}
            onClick={() => storing.mutate({ csv, dryRun: false })}
          >
            Change {countOf(trying.data.changed.length, 'host')}
          </Button>
        )
      )}
    </Stack>
  )
}
