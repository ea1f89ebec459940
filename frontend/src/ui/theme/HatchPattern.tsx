/** The hatching of charts, defined once per document and used by theme.css. */
export function HatchPattern() {
  return (
    <svg width="0" height="0" style={{ position: 'absolute' }} aria-hidden focusable="false">
      <defs>
        <pattern id="ts-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" fill="var(--ts-absent)" />
          <line x1="0" y1="0" x2="0" y2="6" stroke="var(--ts-hatch)" strokeWidth="1.5" />
        </pattern>
      </defs>
    </svg>
  )
}
