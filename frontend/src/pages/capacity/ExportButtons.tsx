import { Button } from '@mantine/core'

/** Links to the same answer as a file; `path` is the answer's own address with its query. */
export function ExportButtons({ path }: { path: string }) {
  return (['csv', 'parquet'] as const).map((format) => (
    <Button key={format} component="a" variant="default" href={`${path}&format=${format}`} download>
      {format === 'csv' ? 'CSV' : 'Parquet'}
    </Button>
  ))
}
