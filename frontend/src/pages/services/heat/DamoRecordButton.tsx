import { ActionIcon, Tooltip } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { IconDownload } from '@tabler/icons-react'
import { problemText } from '../../../api/problem'
import { downloadBlob } from '../../../ui/export/download'
import { Fault } from '../../../ui/states/Fault'

/** Downloads what the heatmap shows as a record of damo. */
export function DamoRecordButton({ read }: { read: () => Promise<Blob> }) {
  const reading = useMutation({ mutationFn: read, onSuccess: (record) => downloadBlob('damon.data', record) })
  return (
    <>
      <Tooltip label="These tiles in the format of damo record, for damo report">
        <ActionIcon
          aria-label="Download as a record of damo"
          loading={reading.isPending}
          onClick={() => reading.mutate()}
        >
          <IconDownload size={16} />
        </ActionIcon>
      </Tooltip>
      {reading.error !== null && <Fault text={problemText(reading.error)} />}
    </>
  )
}
