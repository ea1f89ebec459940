interface SettingValueProps {
  path: string
  value: string
}

/** What a kernel setting of a host is set to now. */
export function SettingValue({ path, value }: SettingValueProps) {
  return (
    <span className="ts-mono" data-setting={path} data-value={value}>
      {value}
    </span>
  )
}
