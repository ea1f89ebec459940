import { Button, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { planBundleQuery } from '../../../api/queries/changePlan'
import { ProblemState } from '../../../ui/states/ProblemState'
import classes from '../../knobs/KnobAdviceCard.module.css'

/** The files of one change, to read before they are downloaded. */
export function BundlePreview({ changeId, without }: { changeId: string; without: string[] }) {
  const [opened, setOpened] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const query = useQuery({ ...planBundleQuery({ changes: [changeId], hosts: [], without }), enabled: opened })
  const load = loadStateOf(query)
  const files = query.data?.files ?? []
  const file = files.find(({ name }) => name === chosen) ?? files[0]
  return (
    <>
      <Button variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {opened ? 'Hide files' : 'Show files'}
      </Button>
      {opened && load.problem !== null && <ProblemState problem={load.problem} onRetry={load.retry} />}
      {opened && file !== undefined && (
        <>
          <Select
            mt={8}
            maw={720}
            aria-label="File of the bundle"
            value={file.name}
            onChange={setChosen}
            data={files.map(({ name }) => name)}
          />
          <pre className={classes.code} tabIndex={0} aria-label={file.name}>
            {file.text}
          </pre>
        </>
      )}
    </>
  )
}
