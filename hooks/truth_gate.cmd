@echo off
rem The Truth Gate on Windows. Tries this checkout with the first Python that really runs (the
rem store's stub answers nothing), then hikmah on PATH, then allows. Always exits 0.
setlocal
set "GATE=%~dp0truth_gate.py"
if exist "%GATE%" (
  for %%P in ("py -3" python python3) do (
    for /f %%A in ('%%~P -c "print(1)" 2^>nul') do (
      if "%%A"=="1" (
        %%~P "%GATE%" %*
        exit /b 0
      )
    )
  )
)
where hikmah >nul 2>nul && (
  hikmah hook %*
  exit /b 0
)
echo {}
exit /b 0
