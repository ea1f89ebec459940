import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { PlanRequest } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { planFile } from '../../api/queries/capacity/capacity'
import { downloadBlob } from '../../ui/export/download'
import { Prose } from '../../ui/text/Prose'
import classes from './CapacityPage.module.css'

type Format = 'csv' | 'parquet'

/** Downloads the plan on screen; disabled while there is none. */
export function PlanExport({ plan }: { plan: PlanRequest | null }) {
  const making = useMutation({
    mutationFn: ({ request, format }: { request: PlanRequest; format: Format }) => planFile(request, format),
    onSuccess: (file, { format }) => downloadBlob(`capacity-plan.${format}`, file),
  })
  return (
    <>
      {(['csv', 'parquet'] as const).map((format) => (
        <Button
          key={format}
          variant="default"
          disabled={plan === null}
          loading={making.isPending && making.variables.format === format}
          onClick={() => plan !== null && making.mutate({ request: plan, format })}
        >
          {format === 'csv' ? 'CSV' : 'Parquet'}
        </Button>
      ))}
      {making.error !== null && (
        <p role="alert" className={classes.fault}>
          <Prose text={problemText(making.error)} />
        </p>
      )}
    </>
  )
}
