import { Button, Tooltip } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { problemText } from '../../api/problem'
import { sheetOf } from '../../api/queries/tco'
import { safeFileName } from '../../lib/export/csv'
import { valueAt, type JsonObject } from '../../lib/tco/scenarioSpec'
import { downloadBlob } from '../../ui/export/download'
import { Prose } from '../../ui/text/Prose'
import { asScenario } from './tcoInputs'
import classes from './TcoPage.module.css'

/** Downloads the scenario as a spreadsheet with formulas. */
export function SheetButton({ spec }: { spec: JsonObject | undefined }) {
  const making = useMutation({
    mutationFn: sheetOf,
    onSuccess: (sheet) => downloadBlob(`${safeFileName(String(valueAt(spec, 'name')))}.xlsx`, sheet),
  })
  return (
    <>
      <Tooltip label="A spreadsheet with live formulas for every total">
        <Button
          variant="default"
          disabled={spec === undefined}
          loading={making.isPending}
          onClick={() => spec !== undefined && making.mutate(asScenario(spec))}
        >
          Export to Excel
        </Button>
      </Tooltip>
      {making.error !== null && (
        <p role="alert" className={classes.fault}>
          <Prose text={problemText(making.error)} />
        </p>
      )}
    </>
  )
}
