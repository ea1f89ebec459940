/** Hand what a URL (data: or blob:) holds to the viewer as a file. */
export function downloadUrl(fileName: string, url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
}

/** Hand a text to the viewer as a file. */
export function downloadText(fileName: string, text: string, mediaType: string): void {
  downloadBlob(fileName, new Blob([text], { type: mediaType }))
}

/** Hand bytes to the viewer as a file. */
export function downloadBlob(fileName: string, bytes: Blob): void {
  const url = URL.createObjectURL(bytes)
  downloadUrl(fileName, url)
  URL.revokeObjectURL(url)
}
