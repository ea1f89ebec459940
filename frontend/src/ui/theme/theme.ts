import { createTheme, type MantineColorsTuple } from '@mantine/core'

const spruce: MantineColorsTuple = [
  '#e8f7f4',
  '#d3ece7',
  '#a6d9cf',
  '#75c5b5',
  '#4db59f',
  '#34ab92',
  '#24a68b',
  '#128171',
  '#0b6f61',
  '#005f51',
]

const slate: MantineColorsTuple = [
  '#dfe6ea',
  '#b4c0c8',
  '#93a1aa',
  '#6d7b85',
  '#4a5862',
  '#39464f',
  '#232c33',
  '#151b20',
  '#0e1317',
  '#090d10',
]

/** The app's theme: one accent, small radii, dense type, tabular figures (see theme.css). */
export const theme = createTheme({
  primaryColor: 'spruce',
  primaryShade: 7,
  colors: { spruce, dark: slate },
  autoContrast: true,
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, 'SF Mono', Menlo, monospace",
  fontSizes: { xs: '0.6875rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'sm',
  radius: { xs: '2px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  headings: { fontWeight: '600' },
  focusRing: 'auto',
  components: {
    Button: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray', c: 'dimmed' } },
    Select: { defaultProps: { size: 'xs', allowDeselect: false } },
    TextInput: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    PasswordInput: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    MultiSelect: { defaultProps: { size: 'xs' } },
    Switch: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Tooltip: { defaultProps: { openDelay: 250, multiline: true, maw: 320, withArrow: true } },
    Popover: { defaultProps: { shadow: 'md', withinPortal: true } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: 10 } },
  },
})
