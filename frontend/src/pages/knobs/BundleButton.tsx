import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { problemText } from '../../api/problem'
import { planBundleQuery, type BundleChoice } from '../../api/queries/changePlan'
import { tarOf } from '../../lib/export/tar'
import { downloadBlob } from '../../ui/export/download'
import { Prose } from '../../ui/text/Prose'
import classes from './KnobAdviceCard.module.css'

interface BundleButtonProps {
  choice: BundleChoice
  /** What the archive is called, without its ending. */
  name: string
  label: string
  /** What the button is for, where its label is short. */
  title?: string
  disabled?: boolean
  filled?: boolean
}

/** Hands out the files of some changes as one archive. Nothing is applied. */
export function BundleButton({ choice, name, label, title, disabled = false, filled = false }: BundleButtonProps) {
  const queries = useQueryClient()
  const making = useMutation({
    mutationFn: () => queries.fetchQuery(planBundleQuery(choice)),
    onSuccess: (bundle) => {
      const archive = tarOf(bundle.files, new Date(bundle.made_at))
      downloadBlob(`${name}.tar`, new Blob([archive], { type: 'application/x-tar' }))
    },
  })
  return (
    <>
      <Button
        variant={filled ? 'filled' : 'default'}
        leftSection={<IconDownload size={14} />}
        loading={making.isPending}
        disabled={disabled}
        onClick={() => making.mutate()}
        {...(title !== undefined && { title, 'aria-label': title })}
      >
        {label}
      </Button>
      {making.error !== null && (
        <p className={classes.fault} role="alert">
          <Prose text={problemText(making.error)} />
        </p>
      )}
    </>
  )
}
