import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { downloadText } from '../../ui/export/download'
import { CopyText } from '../../ui/text/CopyText'
import { Prose } from '../../ui/text/Prose'
import type { InstallStep } from './installStep'
import classes from './AddHosts.module.css'

/** What to copy, in order: where it runs, and where its files come from. */
export function InstallSteps({ steps }: { steps: InstallStep[] }) {
  return (
    <ol className={classes.steps} data-testid="install-steps">
      {steps.map((step) => (
        <li key={step.title} className={classes.step}>
          <h3 className={classes.stepTitle}>
            {step.title} <span className={classes.where}>{step.where}</span>
          </h3>
          <p className={classes.note}>
            <Prose text={step.note} />
          </p>
          <CopyText text={step.text} label={`“${step.title}”`}>
            {step.file !== undefined && <DownloadButton name={step.file} text={step.text} />}
          </CopyText>
        </li>
      ))}
    </ol>
  )
}

function DownloadButton({ name, text }: { name: string; text: string }) {
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={14} aria-hidden />}
      onClick={() => downloadText(name, text, 'text/plain')}
    >
      Download {name}
    </Button>
  )
}
