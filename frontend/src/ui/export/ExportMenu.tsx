import { ActionIcon, Menu } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import type { Table } from '../../lib/export/csv'
import { downloadCsv, downloadParquet, type ExportOrigin } from './download'
import classes from './ExportMenu.module.css'
import { useExportOrigin } from './exportOrigin'

interface ExportMenuProps {
  /** Stable name: files carry it. */
  name: string
  /** What is handed out, as people call it. */
  label: string
  /** The values; asked for when a file is made. Null while there are none. */
  table: (() => Table) | null
  /** Hands out a picture, where there is one. */
  onPng?: (origin: ExportOrigin) => Promise<void>
}

/** The downloads that every chart and every table has: CSV and Parquet, of a chart its picture, too. */
export function ExportMenu({ name, label, table, onPng }: ExportMenuProps) {
  const originNow = useExportOrigin()
  const [failed, setFailed] = useState(false)
  const run = (make: (origin: ExportOrigin) => Promise<void> | void) => {
    setFailed(false)
    void Promise.resolve()
      .then(() => make(originNow()))
      .catch(() => setFailed(true))
  }
  return (
    <>
      {failed && (
        <span className={classes.failed} role="alert">
          The file could not be made. Reload the page, then retry.
        </span>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon aria-label={`Download ${label}`} title={`Download ${label}`} disabled={table === null}>
            <IconDownload size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {onPng !== undefined && <Menu.Item onClick={() => run(onPng)}>PNG</Menu.Item>}
          <Menu.Item onClick={() => table && run((origin) => downloadCsv(name, table(), origin))}>CSV</Menu.Item>
          <Menu.Item onClick={() => table && run((origin) => downloadParquet(name, label, table(), origin))}>
            Parquet
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
